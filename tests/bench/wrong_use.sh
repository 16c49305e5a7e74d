#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# wrong_use.sh MPIEXEC COMMAND: wrong options of the benchmarks end with a nonzero status and a line that says what is wrong.
set -euo pipefail
mpiexec=$1 command=$2
failures=0

# refuses RANKS TEXT WORD...
refuses() {
  local ranks=$1 text=$2 output status=0
  shift 2
  output=$("$mpiexec" -n "$ranks" "$command" bench "$@" 2>&1 </dev/null) || status=$?
  if ((status != 0)) && grep -qF -- "$text" <<<"$output"; then return; fi
  echo "penstock bench $*: expected a failure with \"$text\", got status $status and: $output"
  failures=$((failures + 1))
}

refuses 1 'multi-pair needs an even number of ranks and has 1' multi-pair
refuses 1 'rma needs exactly 2 ranks and has 1' rma
refuses 1 'not understood: --min' rma --min 8
refuses 1 'windows is for latency and halo' rma --baseline windows
refuses 1 '--rows: is for latency' rma --rows 8
refuses 3 'overlap --traffic exchange needs an even number of ranks and has 3' overlap
refuses 1 'overlap --traffic gather needs at least 2 ranks' overlap --traffic gather
refuses 1 '--traffic' overlap --traffic gatherv
refuses 1 '--sizes' overlap --sizes 0
refuses 1 'pairs needs exactly 2 ranks and has 1' pairs
refuses 2 '--pairs' pairs --pairs 1
refuses 1 'bag needs at least 2 ranks' bag
refuses 1 'channel needs exactly 2 ranks and has 1' channel
refuses 1 'not divided into 3 units' channel --units 3
refuses 1 '--parts' channel --parts waits
refuses 3 'message-rate needs an even number of ranks and has 3' message-rate
[[ -e /dev/nvidiactl ]] || refuses 2 '--device cuda' multi-pair --device cuda
refuses 1 'cannot be ready' halo --send ready
refuses 1 'is for --device host' latency --device cuda --send ready
refuses 1 'halo has no baseline ofi-chain' halo --baseline ofi-chain
refuses 1 'nccl is not one of --device host' halo --baseline nccl
refuses 1 '--halo' halo --halo 0
refuses 1 '--window' message-rate --window 0
refuses 1 'not understood: --window' halo --window 3
refuses 1 'not understood: --sizes' halo --sizes 8
refuses 1 'What can stand there: latency ' latnecy
refuses 1 'are for --device cuda' halo --graph
refuses 1 '--sizes: -5 is not a whole number' latency --sizes -5
refuses 1 '--sizes: 99999999999999999999 is not a whole number' latency --sizes 8,99999999999999999999
refuses 1 '--sizes: 1000000000000000 is not a whole number' exchange --sizes 1000000000000000
refuses 1 '--sizes: 2147483648 is not a whole number' bw --sizes 2147483648
refuses 1 '--min: -1 is not a whole number' bw --min -1
refuses 1 '--max: 1e3 is not a whole number' bw --max 1e3
refuses 1 '--iterations' latency --iterations 0
refuses 1 '--rounds' latency --rounds 99999999999999999999
refuses 1 '--halo' halo --halo -1
refuses 1 '--rows: is for latency, bw, multi-pair and message-rate' halo --rows 8
refuses 1 '--rows: 0 is not a whole number of bytes from 1' latency --rows 0
refuses 1 '--rows: no size is a multiple of a row' latency --rows 256 --sizes 100
refuses 1 'packed is for messages in --rows' latency --baseline packed
refuses 1 'mpi-nonblocking knows no --rows' latency --rows 8 --baseline mpi-nonblocking
refuses 2 "no algorithm 'dubling'; there is two-shot, doubling" allreduce --algorithm dubling
refuses 1 'nccl is not one of --device host' bcast --baseline nccl
refuses 1 'not in {mpi,mpi-alone,nccl}' bcast --baseline windows
refuses 1 '12 bytes are no whole number of doubles' reduce --sizes 8,12
refuses 1 'not understood: --sizes' barrier --sizes 8
refuses 1 'not understood: --check' alltoall --check
exit $((failures > 0))
