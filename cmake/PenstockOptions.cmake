# SPDX-License-Identifier: Apache-2.0
# Options, language standards, warnings, sanitizers.

option(PENSTOCK_BUILD_TOOLS "Build the penstock command" ${PROJECT_IS_TOP_LEVEL})
option(PENSTOCK_BUILD_RESEARCH "Build what no library can be faster than, to measure beside it; not installed" OFF)
option(PENSTOCK_BUILD_EXAMPLES "Build the example programs" ${PROJECT_IS_TOP_LEVEL})
option(PENSTOCK_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(PENSTOCK_BUILD_PROTOCOL_TESTS "Among them the explorer of the protocol and its thread tests, the same for every MPI" ON)
set(PENSTOCK_OFI AUTO CACHE STRING "The transport over libfabric: AUTO (where it is found), ON or OFF")
set_property(CACHE PENSTOCK_OFI PROPERTY STRINGS AUTO ON OFF)
option(PENSTOCK_WERROR "Make warnings errors" OFF)
set(PENSTOCK_FLAG_BITS 32 CACHE STRING "Width of the flag in a message line; small values make tests wrap around early")
set(PENSTOCK_SANITIZE "" CACHE STRING "Sanitizer: empty, address (with undefined) or thread")
set_property(CACHE PENSTOCK_SANITIZE PROPERTY STRINGS "" address thread)

if(NOT PENSTOCK_FLAG_BITS MATCHES "^([2-9]|[12][0-9]|3[0-2])$")
  message(FATAL_ERROR "PENSTOCK_FLAG_BITS is '${PENSTOCK_FLAG_BITS}': give a number from 2 to 32")
endif()

if(NOT PENSTOCK_OFI MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "PENSTOCK_OFI is '${PENSTOCK_OFI}': give AUTO, ON or OFF")
endif()

# Release is -O3 for the machine's baseline: no -march, since the library is built on one machine and used on many, and the
# hot path is made of loads, stores and memcpy, which picks its instructions at run time.
# A project that has Penstock inside keeps its own build type; without one, Penstock alone is a release build.
get_property(multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(NOT multi_config AND NOT CMAKE_BUILD_TYPE)
  if(PROJECT_IS_TOP_LEVEL)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
  else()
    set(CMAKE_BUILD_TYPE Release)
  endif()
endif()

# Other compilers may well do, but a too old one fails in the middle of the build with a text that helps nobody.
set(compiler_needed "")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
  set(compiler_needed "GCC 12")
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 16)
  set(compiler_needed "Clang 16")
endif()
if(compiler_needed)
  message(FATAL_ERROR "${CMAKE_CXX_COMPILER} is ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, and Penstock's C++20 "
                      "needs ${compiler_needed} or later: name another with -DCMAKE_CXX_COMPILER=g++-12")
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

# Everything of ours is compiled with penstock_flags; nothing of it reaches those who use the installed library.
add_library(penstock_flags INTERFACE)
# -Wno-restrict: GCC 12 sees overlapping copies in "text" + std::string (its bug 105651).
target_compile_options(penstock_flags INTERFACE
  $<$<COMPILE_LANGUAGE:C,CXX>:-Wall -Wextra -Wshadow -Wno-restrict -Wpointer-arith>
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual -Wextra-semi>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>
  $<$<AND:$<BOOL:${PENSTOCK_WERROR}>,$<COMPILE_LANGUAGE:C,CXX>>:-Werror>
  $<$<AND:$<BOOL:${PENSTOCK_WERROR}>,$<COMPILE_LANGUAGE:CUDA>>:-Werror=all-warnings>)

if(PENSTOCK_SANITIZE STREQUAL "address")
  set(sanitizers -fsanitize=address,undefined -fno-sanitize-recover=undefined)
elseif(PENSTOCK_SANITIZE STREQUAL "thread")
  set(sanitizers -fsanitize=thread -Wno-tsan)  # which tells of fences: peer/host_port.hpp
elseif(NOT PENSTOCK_SANITIZE STREQUAL "")
  message(FATAL_ERROR "PENSTOCK_SANITIZE is '${PENSTOCK_SANITIZE}': give nothing, address or thread")
endif()
if(PENSTOCK_SANITIZE)
  target_compile_options(penstock_flags INTERFACE
    $<$<COMPILE_LANGUAGE:C,CXX>:${sanitizers} -O1 -g -fno-omit-frame-pointer>)
  target_link_options(penstock_flags INTERFACE ${sanitizers})
endif()

# Programs under AddressSanitizer keep their libraries loaded to the end: see the file.
add_library(penstock_keep_libraries OBJECT EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/tests/sanitizers/keep_libraries.c")
function(penstock_sanitized_program target)
  if(PENSTOCK_SANITIZE STREQUAL "address")
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:penstock_keep_libraries>)
  endif()
endfunction()
