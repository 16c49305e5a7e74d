# SPDX-License-Identifier: Apache-2.0
# Calls from destructors of static objects, when the main thread's thread_locals have gone.
add_executable(late_program late_program.cpp)
target_link_libraries(late_program PRIVATE penstock_flags penstock)
penstock_sanitized_program(late_program)
penstock_launcher_environment(launcher_environment)
penstock_sanitizer_environment(sanitizer_environment)
foreach(what errors communicates quiet)
  foreach(ranks 1 2)
    set(test late_program.${what}.${ranks})
    add_test(NAME ${test} COMMAND "${MPIEXEC_EXECUTABLE}" ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${MPIEXEC_PREFLAGS}
                                  $<TARGET_FILE:late_program> ${what})
    set_tests_properties(${test} PROPERTIES TIMEOUT 120 PROCESSORS 2 LABELS "mpi;ranks${ranks}"
      ENVIRONMENT "${launcher_environment};${sanitizer_environment}")
  endforeach()
endforeach()
