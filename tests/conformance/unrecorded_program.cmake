# SPDX-License-Identifier: Apache-2.0
# A program whose MPI calls do not come through the recorder: MPI stands before penstock, and before all that CMake orders.
list(GET MPI_C_LIBRARIES 0 mpi_library)
add_executable(unrecorded_program unrecorded_program.c)
target_link_options(unrecorded_program PRIVATE "LINKER:--no-as-needed,${mpi_library}")
target_link_libraries(unrecorded_program PRIVATE penstock)
penstock_sanitized_program(unrecorded_program)
# A sanitizer's runtime has to stand before all other libraries itself: with MPI in front, ThreadSanitizer's build ended by
# a null function inside libucs's constructor.
if(PENSTOCK_SANITIZE)
  return()
endif()
penstock_launcher_environment(launcher_environment)
penstock_sanitizer_environment(sanitizer_environment)
# A match under way when MPI_Finalize begins is not safe with MPICH (docs/design/decisions.md): PST_Finalize is for that.
set(endings finished ended)
if(NOT penstock_mpi_vendor STREQUAL "mpich")
  list(APPEND endings unfinished)
endif()
foreach(ranks 1 2 4)
  foreach(ending IN LISTS endings)
    foreach(transport peer proxy)
      # The progress thread of proxy may be inside MPI at any time.
      if(transport STREQUAL "proxy" AND NOT ending STREQUAL "ended")
        continue()
      endif()
      set(test unrecorded_program.${ending}.${transport}.${ranks})
      add_test(NAME ${test} COMMAND "${MPIEXEC_EXECUTABLE}" ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${MPIEXEC_PREFLAGS}
                                    $<TARGET_FILE:unrecorded_program> ${ending})
      set_tests_properties(${test} PROPERTIES TIMEOUT 120 PROCESSORS 2 LABELS "mpi;ranks${ranks}"
        ENVIRONMENT "${launcher_environment};${sanitizer_environment};PENSTOCK_TRANSPORT=${transport}")
    endforeach()
  endforeach()
endforeach()
