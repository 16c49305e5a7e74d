#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs an MPI program on several hosts that are namespaces of this machine.

    on_hosts.py --mpiexec PATH --vendor openmpi --hosts N --ranks N [OPTION]... PROGRAM [ARGUMENT]...
    on_hosts.py --mpiexec PATH --vendor mpich --leave-mpich LIBRARY --hosts N --ranks N [OPTION]... PROGRAM [ARGUMENT]...

Rank r runs on host r modulo the number of hosts. The exit code is the program's; 77, with the reason printed, where this
machine does not allow such hosts.
"""

import argparse
import subprocess
import sys

import hosts


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    hosts.add_launcher_options(parser)
    parser.add_argument("--hosts", type=int, required=True)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--same-names", action="store_true", help="all hosts have one name")
    parser.add_argument("--own-processes", action="store_true", help="each host counts its processes by itself")
    parser.add_argument("--shared-memory", action="store_true", help="one /dev/shm for all")
    parser.add_argument("--ipv6", action="store_true", help="no IPv4 between the hosts, but for the launcher's network")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    try:
        hosts.isolate()
        network = hosts.Hosts(options.hosts, options.same_names, not options.shared_memory, options.own_processes,
                              options.ipv6)
        command = network.launch(options, options.ranks)
    except hosts.Skip as skip:
        print(f"skipped: this machine does not allow hosts made of namespaces: {skip}")
        return hosts.SKIPPED
    return subprocess.run([*command, *options.program], env=network.environment(), stdin=subprocess.DEVNULL).returncode


if __name__ == "__main__":
    sys.exit(main())
