# SPDX-License-Identifier: Apache-2.0
# cmake -DNM=... -DLIBRARY=... -DOUTPUT=... -P boundary_calls.cmake : the list that boundary_calls.cpp includes, of the PST_
# functions that the library has and the MPI functions that it uses.
execute_process(COMMAND "${NM}" -D --defined-only "${LIBRARY}" OUTPUT_VARIABLE defined COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${NM}" -D --undefined-only "${LIBRARY}" OUTPUT_VARIABLE used COMMAND_ERROR_IS_FATAL ANY)
set(lines "")
string(REGEX MATCHALL " T PST_[A-Za-z_0-9]+" names "${defined}")
foreach(name IN LISTS names)
  string(REPLACE " T " "" name "${name}")
  string(APPEND lines "COUNTED(library, ${name})\n")
endforeach()
string(REGEX MATCHALL " U PMPI_[A-Z][a-z_]+[A-Za-z_0-9]*" names "${used}")
foreach(name IN LISTS names)
  string(REPLACE " U " "" name "${name}")
  string(APPEND lines "COUNTED(mpi, ${name})\n")
endforeach()
file(WRITE "${OUTPUT}" "${lines}")
