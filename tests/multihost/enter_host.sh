#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# enter_host.sh ADDRESS COMMAND... : the remote shell of MPI's launchers, for hosts that are namespaces (hosts.py). Like a
# remote shell it joins its arguments to one line for the shell over there.
set -eu
address=$1
shift
for host in $PENSTOCK_TEST_HOSTS; do
  case $host in
  "$address"=*)
    rest=${host#*=}
    export PENSTOCK_TEST_MEMORY="${rest#*=}" TMPDIR=/dev/shm
    exec nsenter --target "${rest%%=*}" --net --uts --ipc --mount --pid sh -c "$*"
    ;;
  esac
done
echo "enter_host.sh: there is no host $address" >&2
exit 1
