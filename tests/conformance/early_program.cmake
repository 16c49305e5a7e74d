# SPDX-License-Identifier: Apache-2.0
# MPI begun by another library's constructor: with libpenstock preloaded, and linked before that library. Sanitizers' runtimes
# would have to stand before both.
add_library(early_library SHARED early_library.c)
target_link_libraries(early_library PRIVATE MPI::MPI_C)
add_executable(early_program early_program.c)
target_link_libraries(early_program PRIVATE early_library MPI::MPI_C)
add_executable(early_linked_program early_program.c)
target_link_options(early_linked_program PRIVATE LINKER:--no-as-needed)
target_link_libraries(early_linked_program PRIVATE penstock early_library MPI::MPI_C)
if(NOT PENSTOCK_SANITIZE)
  penstock_launcher_environment(launcher_environment)
  foreach(ranks 1 2)
    set(launch "${MPIEXEC_EXECUTABLE}" ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${MPIEXEC_PREFLAGS})
    add_test(NAME early_program.preloaded.${ranks}
      COMMAND ${launch} env LD_PRELOAD=$<TARGET_FILE:penstock> $<TARGET_FILE:early_program>)
    add_test(NAME early_program.linked.${ranks} COMMAND ${launch} $<TARGET_FILE:early_linked_program>)
    set_tests_properties(early_program.preloaded.${ranks} early_program.linked.${ranks} PROPERTIES
      TIMEOUT 120 PROCESSORS 2 LABELS "mpi;ranks${ranks}" ENVIRONMENT "${launcher_environment}")
  endforeach()
endif()
