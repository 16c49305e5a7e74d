# SPDX-License-Identifier: Apache-2.0
# A program linked with MPI only, alone and with libpenstock preloaded. The launcher itself runs without it. A sanitizer's runtime
# would have to be preloaded before the library, so these runs belong to the other builds.
add_executable(plain_program plain_program.c)
target_link_libraries(plain_program PRIVATE MPI::MPI_C ${CMAKE_DL_LIBS})
if(NOT PENSTOCK_SANITIZE)
  penstock_launcher_environment(launcher_environment)
  foreach(ranks 1 2 3 4)
    set(launch "${MPIEXEC_EXECUTABLE}" ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${MPIEXEC_PREFLAGS})
    add_test(NAME plain_program.alone.${ranks} COMMAND ${launch} $<TARGET_FILE:plain_program>)
    add_test(NAME plain_program.preloaded.${ranks}
      COMMAND ${launch} env LD_PRELOAD=$<TARGET_FILE:penstock> $<TARGET_FILE:plain_program> recorded)
    set_tests_properties(plain_program.alone.${ranks} plain_program.preloaded.${ranks} PROPERTIES
      TIMEOUT 120 PROCESSORS 2 LABELS "mpi;ranks${ranks}" ENVIRONMENT "${launcher_environment}")
  endforeach()
endif()
