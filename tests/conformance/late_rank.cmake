# SPDX-License-Identifier: Apache-2.0
# The library's end without a rank that comes late, and MPI's end behind it.
add_executable(late_rank late_rank.c)
target_link_libraries(late_rank PRIVATE penstock_flags penstock)
penstock_sanitized_program(late_rank)
penstock_add_mpi_runs(NAME late_rank TARGET late_rank RANKS 2 3 4 TRANSPORTS peer ofi proxy ENV PENSTOCK_TIMEOUT=0.001)
