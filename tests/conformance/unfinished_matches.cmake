# SPDX-License-Identifier: Apache-2.0
# Its log has a line for each of the thousands of matches: one process's file is enough to read, and the rest is not kept.
add_executable(unfinished_matches unfinished_matches.c)
target_link_libraries(unfinished_matches PRIVATE penstock_flags penstock)
penstock_sanitized_program(unfinished_matches)
foreach(ending finished ended)
  penstock_add_mpi_runs(NAME unfinished_matches.${ending} TARGET unfinished_matches RANKS 1 2 3 TRANSPORTS peer
    ENV PENSTOCK_LOG_FILE=/dev/null ARGS ${ending})
  penstock_add_mpi_runs(NAME unfinished_matches.${ending}_timed TARGET unfinished_matches RANKS 2 TRANSPORTS peer
    ENV PENSTOCK_LOG_FILE=/dev/null PENSTOCK_TIMEOUT=100 ARGS ${ending})
endforeach()
