# SPDX-License-Identifier: Apache-2.0
# The GPUs that are built in: CUDA's or HIP's, from the same sources (compat/gpu_runtime.hpp), if they were asked for and can
# be had. Sets PENSTOCK_GPU where there are any. What is compiled for them is linked with penstock_gpu.

option(PENSTOCK_CUDA "Build the CUDA device" OFF)
option(PENSTOCK_HIP "Build the same device for HIP" OFF)
if(PENSTOCK_CUDA AND PENSTOCK_HIP)
  message(FATAL_ERROR "PENSTOCK_CUDA and PENSTOCK_HIP: a library serves the GPUs of one vendor: choose one of the two")
endif()

add_library(penstock_gpu INTERFACE)
target_include_directories(penstock_gpu INTERFACE "${PROJECT_SOURCE_DIR}/compat")

# The driver is not needed to build, and never linked: see src/device/gpu.
if(PENSTOCK_CUDA)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90)
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    find_package(CUDAToolkit 12.8)
  endif()
  if(NOT CMAKE_CUDA_COMPILER OR NOT CUDAToolkit_FOUND)
    message(STATUS "CUDA: no toolkit of version 12.8 or later was found (nvcc in PATH, or CMAKE_CUDA_COMPILER): "
                   "the build goes on without it")
    set(PENSTOCK_CUDA OFF)
  else()
    message(STATUS "CUDA: ${CUDAToolkit_VERSION}, for ${CMAKE_CUDA_ARCHITECTURES}")
    # CMake before 3.26 does not know that nvcc has C++20.
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    endif()
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    set(CMAKE_CUDA_EXTENSIONS OFF)
    # The runtime is linked statically, by us: programs bring their own, or none.
    set(CMAKE_CUDA_RUNTIME_LIBRARY None)
    target_include_directories(penstock_gpu SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
    target_link_libraries(penstock_gpu INTERFACE CUDA::cudart_static)
  endif()
endif()

# Which of these the compiler knows depends on its version: Clang 15 has no gfx942, Clang 20 no gfx940.
function(penstock_find_hip_architectures result)
  set(known "")
  foreach(architecture gfx90a gfx940 gfx942)
    execute_process(
      COMMAND "${PENSTOCK_HIPCC}" -x hip --cuda-device-only --offload-arch=${architecture} -c /dev/null -o /dev/null
      RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
    if(NOT failed)
      list(APPEND known ${architecture})
    endif()
  endforeach()
  set(${result} "${known}" PARENT_SCOPE)
endfunction()

set(PENSTOCK_HIP_OPTIMISATION -O3 CACHE STRING "How hipcc optimises kernels")
mark_as_advanced(PENSTOCK_HIP_OPTIMISATION)
if(PENSTOCK_HIP)
  find_program(PENSTOCK_HIPCC hipcc HINTS /opt/rocm/bin DOC "The HIP compiler")
  if(PENSTOCK_HIPCC)
    get_filename_component(hip_root "${PENSTOCK_HIPCC}" REALPATH)
    get_filename_component(hip_root "${hip_root}/../.." ABSOLUTE)
    find_path(PENSTOCK_HIP_INCLUDE hip/hip_runtime_api.h HINTS "${hip_root}/include" DOC "The HIP headers")
    find_library(PENSTOCK_HIP_RUNTIME amdhip64 HINTS "${hip_root}/lib" DOC "The HIP runtime")
    if(NOT DEFINED PENSTOCK_HIP_ARCHITECTURES)
      penstock_find_hip_architectures(known)
      set(PENSTOCK_HIP_ARCHITECTURES "${known}" CACHE STRING "AMD GPUs that kernels are compiled for")
    endif()
  endif()
  if(NOT PENSTOCK_HIP_INCLUDE OR NOT PENSTOCK_HIP_RUNTIME OR NOT PENSTOCK_HIP_ARCHITECTURES)
    message(STATUS "HIP: no hipcc that compiles for gfx90a or later, or no libamdhip64 (Debian: hipcc): the build goes on "
                   "without it")
    set(PENSTOCK_HIP OFF)
  else()
    message(STATUS "HIP: ${PENSTOCK_HIPCC}, for ${PENSTOCK_HIP_ARCHITECTURES}")
    target_include_directories(penstock_gpu SYSTEM INTERFACE "${PENSTOCK_HIP_INCLUDE}")
    # CUDA's results may be ignored, HIP's are [[nodiscard]].
    target_compile_options(penstock_gpu INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-unused-result>)
    target_link_libraries(penstock_gpu INTERFACE "${PENSTOCK_HIP_RUNTIME}")
  endif()
endif()

target_compile_definitions(penstock_gpu INTERFACE
  PENSTOCK_CUDA=$<BOOL:${PENSTOCK_CUDA}> PENSTOCK_HIP=$<BOOL:${PENSTOCK_HIP}>)
set(PENSTOCK_GPU OFF)
if(PENSTOCK_CUDA OR PENSTOCK_HIP)
  set(PENSTOCK_GPU ON)
endif()

# penstock_kernels(<sources> <objects>): in a HIP build, replaces the .cu files in the list <sources> by the objects that
# hipcc makes of them, which <objects> receives. With CUDA, CMake compiles them. CMake's own support of HIP refuses hipcc, and
# its version 3.25 does not find Debian's packages.
function(penstock_kernels sources_name objects_name)
  set(sources ${${sources_name}})
  set(kernels ${sources})
  list(FILTER kernels INCLUDE REGEX "\\.cu$")
  set(made "")
  if(PENSTOCK_HIP AND kernels)
    list(REMOVE_ITEM sources ${kernels})
    list(TRANSFORM PENSTOCK_HIP_ARCHITECTURES PREPEND "--offload-arch=" OUTPUT_VARIABLE architectures)
    set(options -std=c++20 ${PENSTOCK_HIP_OPTIMISATION} -fPIC -fvisibility=hidden -Wall -Wextra -Wno-unused-result)
    if(PENSTOCK_WERROR)
      list(APPEND options -Werror)
    endif()
    foreach(kernel IN LISTS kernels)
      file(RELATIVE_PATH object "${PROJECT_SOURCE_DIR}" "${kernel}")
      set(object "${PROJECT_BINARY_DIR}/hip/${object}.o")
      get_filename_component(folder "${object}" DIRECTORY)
      file(MAKE_DIRECTORY "${folder}")
      add_custom_command(OUTPUT "${object}"
        COMMAND "${PENSTOCK_HIPCC}" -x hip ${architectures} ${options}
                -DPENSTOCK_HIP=1 -DPENSTOCK_CUDA=0 -DPENSTOCK_FLAG_BITS=${PENSTOCK_FLAG_BITS}
                -I "${PROJECT_SOURCE_DIR}/compat" -I "${PROJECT_SOURCE_DIR}/include" -I "${PROJECT_BINARY_DIR}/include"
                -I "${PROJECT_SOURCE_DIR}/src"
                -I "${PROJECT_SOURCE_DIR}/apps" -I "${PROJECT_SOURCE_DIR}/bench" -I "${PROJECT_SOURCE_DIR}/tests"
                -MD -MF "${object}.d" -MT "${object}" -c "${kernel}" -o "${object}"
        DEPENDS "${kernel}" DEPFILE "${object}.d" COMMENT "Building HIP object ${object}" VERBATIM)
      list(APPEND made "${object}")
    endforeach()
  endif()
  set(${sources_name} "${sources}" PARENT_SCOPE)
  set(${objects_name} "${made}" PARENT_SCOPE)
endfunction()
