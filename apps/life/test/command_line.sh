#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# command_line.sh COMMAND: wrong input to `penstock` ends with a nonzero status and a line that says what is wrong.
set -euo pipefail
command=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

# refuses TEXT WORD...: `penstock WORD...` fails and says TEXT.
refuses() {
  local text=$1 output status=0
  shift
  output=$("$command" "$@" 2>&1 </dev/null) || status=$?
  if ((status != 0)) && grep -qF -- "$text" <<<"$output"; then return; fi
  echo "penstock $*: expected a failure with \"$text\", got status $status and: $output"
  failures=$((failures + 1))
}

# refuses_pattern TEXT CONTENT: a pattern file of that content is refused with TEXT.
refuses_pattern() {
  printf "$2" >"$folder/pattern.rle"
  refuses "pattern.rle:$1" life "$folder/pattern.rle" --output "$folder"
}

refuses_pattern '1: no header line' ''
refuses_pattern '1: expected a header' 'hello\n'
refuses_pattern '1: the header must give x and y' 'x = 3\nbo!\n'
refuses_pattern '1: "0" is no extent' 'x = 0, y = 3\n!\n'
refuses_pattern '1: "99999999999" is no extent' 'x = 99999999999, y = 3\n!\n'
refuses_pattern '1: the rule is B36/S23' 'x = 3, y = 3, rule = B36/S23\no!\n'
refuses_pattern "3: unexpected character 'q'" '#C a comment\nx = 3, y = 3\nbo$q!\n'
refuses_pattern '2: row 1 is longer' 'x = 3, y = 3\n4o!\n'
refuses_pattern '3: more than the 1 rows' 'x = 3, y = 1\no$\no!\n'
refuses_pattern "2: a run's length" 'x = 3, y = 3\n99999999999o!\n'
refuses_pattern '2: a number must be followed' 'x = 3, y = 3\n2!\n'
refuses_pattern "2: the pattern ends without '!'" 'x = 3, y = 3\nbo'

printf 'x = 3, y = 3\nbo!\n' >"$folder/good.rle"
refuses 'does not fit' life "$folder/good.rle" --width 2
refuses 'cannot read the pattern file' life "$folder/absent.rle"
refuses 'not in range' life -n 0
refuses 'graph' life -n 8 --comm graph
refuses 'not understood: --widht' life "$folder/good.rle" --widht 3
refuses 'not understood: lief' lief
refuses 'needs exactly 2 ranks' bench latency
refuses '--send: foo not in' bench bw --send foo
refuses 'must not be larger' bench latency --min 9 --max 8
refuses 'peer' bench latency --transport pear
refuses 'nccl is not one of --device host' bench latency --baseline nccl

refuses '--grid 2,1,1 is for 2 ranks and the job has 1' faces --grid 2,1,1
refuses '--grid' faces --grid 2,1
refuses '--points' faces --points 2
refuses '--inner' faces --inner 331
refuses 'does not fit into one message' faces --elements 1,10000,10000 --points 64
refuses 'graph: only a GPU' faces --comm graph
refuses '--comm: foo not in' faces --comm mpi,foo
refuses 'is what --small and --large choose' faces --small --elements 3,3,3
refuses 'not understood: --elemnts' faces --elemnts 3,3,3
refuses '--grid 3,1,1 is for 3 ranks and the job has 1' comb --grid 3,1,1
refuses 'is smaller than --ghosts 1,5,1' comb --zones 8,4,8 --ghosts 1,5,1
refuses 'less than 2^31 values' comb --zones 2000,2000,2000
refuses '--periodic' comb --periodic 1,2,1
refuses 'graph: only a GPU' comb --comm graph
refuses 'not understood: --zone' comb --zone 3,3,3
refuses '--zones: 3 required' comb --zones 5,3
refuses '--pinned: is about the memory of messages on a GPU' comb --pinned
refuses '--comm: mpi-datatype not in' life --comm mpi-datatype
[[ -e /dev/nvidiactl ]] || refuses '--device' faces --device cuda
exit $((failures > 0))
