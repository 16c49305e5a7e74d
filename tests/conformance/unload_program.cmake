# SPDX-License-Identifier: Apache-2.0
# The library loaded by dlopen, and closed before MPI ends. Sanitizers' runtimes would have to be linked.
add_executable(unload_program unload_program.c)
target_link_libraries(unload_program PRIVATE MPI::MPI_C ${CMAKE_DL_LIBS})
add_dependencies(unload_program penstock)
if(NOT PENSTOCK_SANITIZE)
  penstock_launcher_environment(launcher_environment)
  foreach(ranks 1 2)
    add_test(NAME unload_program.${ranks}
      COMMAND "${MPIEXEC_EXECUTABLE}" ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${MPIEXEC_PREFLAGS}
              $<TARGET_FILE:unload_program> $<TARGET_FILE:penstock>)
    set_tests_properties(unload_program.${ranks} PROPERTIES
      PASS_REGULAR_EXPRESSION "ended" FAIL_REGULAR_EXPRESSION "Segmentation|rror"
      TIMEOUT 120 PROCESSORS 2 LABELS "mpi;ranks${ranks}" ENVIRONMENT "${launcher_environment}")
  endforeach()
endif()
