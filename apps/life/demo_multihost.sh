#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# demo_multihost.sh BUILD_DIR... : Life on four ranks of two hosts that are namespaces of this machine, verified, for every
# build tree (one for each MPI).
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
setting() { sed -n "s/^$2:[A-Z]*=//p" "$1/CMakeCache.txt"; }

for tree in "$@"; do
  launcher=$(setting "$tree" MPIEXEC_EXECUTABLE)
  options=(--vendor openmpi)
  if [[ -e $tree/tests/multihost/libleave_mpich.so ]]; then
    options=(--vendor mpich --leave-mpich "$tree/tests/multihost/libleave_mpich.so")
  fi
  echo "== $(basename "$tree"): 2 hosts, 4 ranks"
  status=0
  PENSTOCK_THREAD_MULTIPLE=1 "$root/tests/multihost/on_hosts.py" --mpiexec "$launcher" "${options[@]}" --hosts 2 --ranks 4 \
    "$tree/bin/penstock" life "$root/apps/life/patterns/gosper_gun.rle" --verify \
    --output "$root/build/demo/$(basename "$tree")-2-hosts" || status=$?
  if ((status != 0 && status != 77)); then exit "$status"; fi
  echo
done
