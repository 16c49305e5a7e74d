#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# demo.sh BUILD_DIR... : the demonstration. For every build tree (one for each MPI), which is built first: a timed table with
# no more ranks than cores, a verification that also runs on 4 ranks, and a plot of all tables so far. Everything is written
# to build/demo.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
output=$root/build/demo
pattern=$root/apps/life/patterns/gosper_gun.rle
if (($# == 0)); then
  echo "usage: demo.sh BUILD_DIR..." >&2
  exit 2
fi

# The launcher that belongs to a tree's MPI, as CMake found it.
launcher_of() { sed -n 's/^MPIEXEC_EXECUTABLE:[A-Z]*=//p' "$1/CMakeCache.txt"; }

# More ranks than cores: Open MPI must be allowed to, MPICH needs no word.
oversubscribe_option() {
  # Not grep -q: under pipefail it would end the launcher early and spoil the answer.
  if "$1" --version 2>&1 | grep -i 'open mpi\|openrte' >/dev/null; then echo --oversubscribe; fi
}

timed_ranks=$(nproc)
if ((timed_ranks > 4)); then timed_ranks=4; fi

tables=()
for tree in "$@"; do
  name=$(basename "$tree")
  "$root/tools/build" "$name" penstock_command
  launcher=$(launcher_of "$tree")
  echo "== $name: timed on $timed_ranks rank(s)"
  # $(...) is split on purpose: the option may be absent.
  # shellcheck disable=SC2046
  "$launcher" -n "$timed_ranks" $(oversubscribe_option "$launcher") "$tree/bin/penstock" life "$pattern" \
    --verify --output "$output/$name" </dev/null
  tables+=("$output/$name/life.json")
  echo
  echo "== $name: verified on 4 ranks"
  # shellcheck disable=SC2046
  "$launcher" -n 4 $(oversubscribe_option "$launcher") "$tree/bin/penstock" life "$pattern" \
    --width 61 --height 47 --generations 60 --rounds 1 --verify --output "$output/$name-4-ranks" </dev/null
  echo
  "$tree/bin/penstock" plot life "${tables[@]}" --output "$output/table.png"
  echo "pictures:"
  echo "  the table:           $output/table.png"
  echo "  the last generation: $output/$name/life.png"
  echo
done
