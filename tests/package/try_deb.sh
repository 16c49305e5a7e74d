#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# try_deb.sh MPI DEBS VERSION : installs the packages of the folder DEBS into a fresh Debian (debootstrap, as root, from
# Debian's mirror), compiles a program there with what they bring, and runs it on two ranks. Status 77 where that cannot be.
# DEBOOTSTRAP_ROOT names a fresh Debian that is there already; it is copied.
set -euo pipefail
mpi=$1 debs=$2 version=$3
here=$(cd "$(dirname "$0")" && pwd)

skip() {
  echo "skipped: $*"
  exit 77
}
((EUID == 0)) || skip "a fresh Debian needs root"
# Mounts of its own, which end with it.
if [[ -z "${OWN_MOUNTS:-}" ]]; then OWN_MOUNTS=1 exec unshare --mount "$0" "$@"; fi
work=$(mktemp -d)
trap 'umount -q "$work/proc" "$work/sys" "$work/dev/shm" || true; rm -rf --one-file-system "$work" "$work.log"' EXIT
if [[ -n "${DEBOOTSTRAP_ROOT:-}" ]]; then
  cp -a "$DEBOOTSTRAP_ROOT/." "$work"
else
  command -v debootstrap >/dev/null || skip "no debootstrap: apt-get install debootstrap"
  . /etc/os-release
  debootstrap --variant=minbase "$VERSION_CODENAME" "$work" >"$work.log" 2>&1 || skip "debootstrap: $(tail -n 1 "$work.log")"
fi
mount -t proc proc "$work/proc"
mount -t sysfs -o ro sysfs "$work/sys"
mkdir -p "$work/dev/shm"
mount -t tmpfs tmpfs "$work/dev/shm"
mknod -m 666 "$work/dev/null" c 1 3 2>/dev/null || true
cp /etc/resolv.conf /etc/hosts "$work/etc/"
cp -a /etc/apt/apt.conf.d/. "$work/etc/apt/apt.conf.d/"
mkdir "$work/debs" "$work/program"
cp "$debs"/*.deb "$work/debs/"
cp -r "$here/c_consumer/consumer.c" "$work/program/"

inside() {
  chroot "$work" env DEBIAN_FRONTEND=noninteractive HOME=/root LC_ALL=C.UTF-8 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    OMPI_MCA_rmaps_base_oversubscribe=1 "$@" </dev/null
}
inside apt-get -q update >"$work/apt.log" 2>&1
inside bash -c 'apt-get -qy install --no-install-recommends gcc pkg-config /debs/*.deb' >>"$work/apt.log" 2>&1 ||
  { tail -n 30 "$work/apt.log"; exit 1; }

output=$(inside bash -c "cd /program && mpicc.$mpi consumer.c \$(pkg-config --cflags --libs penstock) -o consumer &&
  mpiexec.$mpi -n 2 ./consumer")
[[ $(grep -o "penstock-$version" <<<"$output" | wc -l) == 2 ]] || { echo "two ranks print: $output"; exit 1; }
inside "mpiexec.$mpi" -n 2 penstock bench latency --sizes 8 --rounds 1 --iterations 10
inside test -s /usr/share/bash-completion/completions/penstock
inside penstock doctor --json >"$work/doctor.json" || true
grep -q '"transport.peer"' "$work/doctor.json" || { cat "$work/doctor.json"; exit 1; }
inside dpkg --purge penstock-tools libpenstock-dev libpenstock0 >/dev/null
left=$(find "$work/usr" -name '*penstock*')
[[ -z $left ]] || { echo "left behind: $left"; exit 1; }
echo "installed, compiled, run on two ranks and removed: $mpi"
