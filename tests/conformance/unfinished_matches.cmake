# SPDX-License-Identifier: Apache-2.0
# Its log has a line for each of the thousands of matches: one process's file is enough to read, and the rest is not kept.
add_executable(unfinished_matches unfinished_matches.c)
target_link_libraries(unfinished_matches PRIVATE penstock_flags penstock)
penstock_sanitized_program(unfinished_matches)
function(unfinished_matches name)
  penstock_add_mpi_runs(NAME unfinished_matches.${name} TARGET unfinished_matches TRANSPORTS peer ${ARGN})
endfunction()
foreach(ending finished ended)
  set(log ENV PENSTOCK_LOG_FILE=/dev/null)
  # 80 matches hung once, as many as filled MPICH's queue to a peer that reads no more: 3000 are enough for every day.
  unfinished_matches(${ending}_some RANKS 1 2 3 ${log} ARGS ${ending} 3000)
  unfinished_matches(${ending}_timed RANKS 2 ${log} PENSTOCK_TIMEOUT=100 ARGS ${ending} 3000)
  unfinished_matches(${ending}_whole RANKS 1 2 3 LONG ${log} ARGS ${ending})
  unfinished_matches(${ending}_timed_whole RANKS 2 LONG ${log} PENSTOCK_TIMEOUT=100 ARGS ${ending})
endforeach()
