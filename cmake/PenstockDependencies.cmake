# SPDX-License-Identifier: Apache-2.0
# The libraries Penstock stands on. Debian packages: see tools/setup.

# A compiler wrapper that carries its MPI's name (mpicc.mpich, mpicc.openmpi) has a launcher of the same name beside it;
# FindMPI alone would take the machine's default mpiexec, which may belong to another MPI.
if(MPI_C_COMPILER AND NOT MPIEXEC_EXECUTABLE)
  find_program(mpi_c_wrapper NAMES "${MPI_C_COMPILER}" NO_CACHE)
  if(mpi_c_wrapper)
    get_filename_component(mpi_bin "${mpi_c_wrapper}" DIRECTORY)
    get_filename_component(mpi_wrapper_name "${mpi_c_wrapper}" NAME)
    string(REGEX REPLACE "^mpicc" "mpiexec" mpi_launcher_name "${mpi_wrapper_name}")
    find_program(MPIEXEC_EXECUTABLE NAMES "${mpi_launcher_name}" PATHS "${mpi_bin}" NO_DEFAULT_PATH
                 DOC "The launcher of MPI programs")
  endif()
endif()
# Only the C interface of MPI is used, in C++ too.
find_package(MPI 3.1 REQUIRED COMPONENTS C)
find_package(PkgConfig REQUIRED)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
if(PENSTOCK_BUILD_TOOLS)
  find_package(CLI11 REQUIRED)
  find_package(PNG REQUIRED)
endif()
if(PENSTOCK_BUILD_TESTS)
  find_package(GTest REQUIRED)
  find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
endif()

# The deprecated C++ bindings would add a library that nobody asked for.
add_library(penstock_mpi INTERFACE)
target_link_libraries(penstock_mpi INTERFACE MPI::MPI_C)
target_compile_definitions(penstock_mpi INTERFACE MPICH_SKIP_MPICXX OMPI_SKIP_MPICXX)

# Which MPI it is decides how tests are launched.
find_file(mpi_header mpi.h PATHS ${MPI_C_INCLUDE_DIRS} NO_DEFAULT_PATH NO_CACHE)
if(NOT mpi_header)
  find_file(mpi_header mpi.h NO_CACHE)
endif()
set(penstock_mpi_vendor other)
if(mpi_header)
  file(STRINGS "${mpi_header}" vendor_lines REGEX "define +(MPICH_VERSION|OMPI_MAJOR_VERSION)")
  if(vendor_lines MATCHES "MPICH_VERSION")
    set(penstock_mpi_vendor mpich)
  elseif(vendor_lines MATCHES "OMPI_MAJOR_VERSION")
    set(penstock_mpi_vendor openmpi)
  endif()
endif()
message(STATUS "MPI: ${penstock_mpi_vendor} (MPI ${MPI_C_VERSION}), launcher ${MPIEXEC_EXECUTABLE}")
