#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# command_use.sh MPIEXEC COMMAND: what the command tells of odd settings, of a full disk, and of a core that is busy with other work.
set -euo pipefail
mpiexec=$1 command=$2
failures=0

fail() {
  echo "$*"
  failures=$((failures + 1))
}

output=$("$command" --version 2>&1 >/dev/full) && fail "--version on a full disk succeeds"
grep -qF "standard output has not taken all" <<<"$output" || fail "--version on a full disk says: $output"

# A setting may be any bytes, and the description is UTF-8 all the same.
for name in PENSTOCK_OFI_PROVIDER PENSTOCK_OFI_INTERFACE; do
  env "$name=$(printf 'a\377b')" "$mpiexec" -n 1 "$command" info --json </dev/null |
    python3 -c 'import json, sys; sys.exit("a�b" != json.load(sys.stdin)["settings"][sys.argv[1]])' "$name" ||
    fail "info fails with $name=a\\377b"
done

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
name=$(printf 'a\377b')
cp "$(dirname "$0")/../../apps/life/patterns/acorn.rle" "$folder/$name.rle"
(cd "$folder" && "$mpiexec" -n 1 "$command" life "$name.rle" -n 64 -t 2 --rounds 1 --json </dev/null) |
  python3 -c 'import json, sys; sys.exit("a�b" != json.load(sys.stdin)["pattern"])' || fail "life fails with $name.rle"

# A rank that cannot write its results ends the job, though queues of both wait for the other.
code=0
output=$(timeout 60 "$mpiexec" -n 2 "$command" life -n 64 -t 5 --rounds 1 --output /proc/nowhere 2>&1 </dev/null) || code=$?
[[ $code != 0 && $code != 124 ]] && grep -q "penstock: rank 0: .*nowhere" <<<"$output" ||
  fail "life without a place for its results ends with $code: $output"

# Everything on one core, beside a process that is always ready.
[[ $(nproc --all) -gt 1 && -r /proc/self/schedstat ]] || exit $((failures > 0))
core=$(taskset -cp $$ | sed 's/.*: *//; s/[^0-9].*//')
taskset -c "$core" bash -c 'while :; do :; done' &
busy=$!
trap 'kill "$busy"; rm -rf "$folder"' EXIT
output=$("$mpiexec" -n 2 taskset -c "$core" "$command" bench latency --sizes 8 --rounds 1 --iterations 4 2>&1 </dev/null)
grep -q "had no core for [0-9]* % of the measured time.*--bind-to none" <<<"$output" || fail "bench on a busy core says: $output"
grep -q "core $core alone, of [0-9]*, which 2 ranks share" <<<"$output" || fail "the log on a shared core says: $output"
output=$("$mpiexec" -n 1 taskset -c "$core" "$command" info 2>&1 </dev/null)
grep -q "only_core .*core $core alone" <<<"$output" || fail "info on one core says: $output"
exit $((failures > 0))
