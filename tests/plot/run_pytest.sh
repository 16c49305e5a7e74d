#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run_pytest.sh FOLDER: the tests there, by a python3 that has what they need; status 77 where there is none.
set -uo pipefail
for python in python3 /usr/bin/python3; do
  "$python" -c 'import matplotlib, numpy, pytest' 2>/dev/null || continue
  exec "$python" -m pytest -q --durations=5 -p no:cacheprovider "$1"
done
echo "skipped: no python3 has matplotlib, numpy and pytest"
exit 77
