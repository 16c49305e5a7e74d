# SPDX-License-Identifier: Apache-2.0
"""Hosts for tests, made of this machine's namespaces: each has a name, network interfaces and a /dev/shm of its own.

isolate() puts the calling program into namespaces that nobody else sees, as their first process. All that Hosts makes lives
in there: nothing has a name outside, runs do not meet, and the kernel removes everything when that process ends, however it
ends.

    launcher            host 1            host 2
    198.18.0.254        198.18.0.1        198.18.0.2         control: how jobs are launched, never cut
     |  control  ------- c0 -------------- c0
        data     ------- e0 -------------- e0                data: what the ranks' messages take
                         198.19.0.1        198.19.0.2        (or fd19::1, fd19::2)
"""

import os
import subprocess
import sys
import threading
from pathlib import Path

SKIPPED = 77
AGENT = Path(__file__).resolve().parent / "enter_host.sh"
INSIDE = "PENSTOCK_TEST_INSIDE"
NAMESPACES = ["unshare", "--net", "--uts", "--ipc", "--mount"]
PROCESSES = ["--pid", "--fork", "--kill-child", "--mount-proc"]


class Skip(Exception):
    """The machine does not allow this."""


def call(*command):
    """Runs a command that makes a part of a host; what it complains about is why there are no hosts."""
    try:
        result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    except OSError as error:
        raise Skip(f"{command[0]}: {error.strerror}") from None
    if result.returncode != 0:
        raise Skip(f"{' '.join(command)}: {result.stderr.strip()}")


def isolate():
    """Runs the calling program again, alone among namespaces, and ends with it; returns in there only."""
    if INSIDE in os.environ:
        threading.Thread(target=end_with, args=[int(os.environ[INSIDE])], daemon=True).start()
        return
    for user in ([], ["--user", "--map-root-user"]):
        command = [*NAMESPACES, *PROCESSES, *user]
        try:
            call(*command, "true")
        except Skip as skip:
            reason = skip
            continue
        ours, theirs = os.pipe()
        child = subprocess.Popen([*command, sys.executable, *sys.argv], pass_fds=[ours], env=os.environ | {INSIDE: str(ours)})
        sys.exit(child.wait())
    raise Skip(reason)


def end_with(pipe):
    """Ends this process, the first of its namespaces, and so all that is in them, when the one outside has ended."""
    os.read(pipe, 1)
    os._exit(1)


class Host:
    def __init__(self, number, name, own_memory, own_processes, ipv6):
        self.address = f"198.18.0.{number}"
        self.port = f"data{number}"
        # What ranks have in common whose shared memory is one: `peer` carries their messages.
        self.memory = self.address if own_memory else "all"
        memory = "mount -t tmpfs tmpfs /dev/shm && " if own_memory else ""
        # sysfs shows the interfaces of those who have mounted it. What the machine may have been set to for its own
        # network, as BBR, holds messages back by timers, on some connections far longer than they take here.
        rest = ('mount -t sysfs sysfs /sys && hostname "$0" && ip link set lo up'
                ' && { echo reno > /proc/sys/net/ipv4/tcp_congestion_control || true; } 2> /dev/null && echo ready && exec sleep infinity')
        self.holder = subprocess.Popen(
            [*NAMESPACES, *(PROCESSES if own_processes else []), "sh", "-c", memory + rest, name],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if self.holder.stdout.readline() != "ready\n":
            raise Skip(f"a host: {self.holder.stderr.read().strip()}")
        self.process = str(self.holder.pid)
        if own_processes:
            self.process = Path(f"/proc/{self.process}/task/{self.process}/children").read_text().split()[0]
        self.data = f"fd19::{number}" if ipv6 else f"198.19.0.{number}"
        self.connect("control", f"control{number}", "c0", f"{self.address}/24")
        self.connect("data", self.port, "e0", f"{self.data}/64" if ipv6 else f"{self.data}/24")

    def inside(self):
        return ["nsenter", "--target", self.process, "--net", "ip"]

    def connect(self, bridge, port, interface, address):
        call("ip", "link", "add", port, "type", "veth", "peer", "name", interface, "netns", self.process)
        call("ip", "link", "set", port, "master", bridge, "up")
        inside = self.inside()
        call(*inside, "address", "add", address, "dev", interface, *(["nodad"] if ":" in address else []))
        call(*inside, "link", "set", interface, "up")

    def cut(self):
        """Pulls the cable of the data network."""
        call("ip", "link", "set", self.port, "down")

    def mend(self):
        call("ip", "link", "set", self.port, "up")

    def lose_route_to(self, other):
        """From now on the system refuses to send to the other host's address in the data network."""
        call(*self.inside(), "route", "add", "unreachable", other.data)


class Hosts:
    def __init__(self, count, same_names=False, own_memory=True, own_processes=False, ipv6=False, mpi="e0"):
        self.ipv6 = ipv6
        self.mpi = mpi  # the interface of MPI's messages
        call("ip", "link", "set", "lo", "up")
        for bridge in ("control", "data"):
            call("ip", "link", "add", bridge, "type", "bridge")
            call("ip", "link", "set", bridge, "up")
        call("ip", "address", "add", "198.18.0.254/24", "dev", "control")
        self.hosts = [Host(number, "host" if same_names else f"host{number}", own_memory, own_processes, ipv6)
                      for number in range(1, count + 1)]

    def __getitem__(self, index):
        return self.hosts[index]

    def environment(self):
        """What the agent and the libraries need to know. Within a host MPI's own messages take the network, too."""
        return os.environ | {
            "PENSTOCK_TEST_HOSTS": " ".join(f"{host.address}={host.process}={host.memory}" for host in self.hosts),
            "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": self.mpi,
            "FI_SOCKETS_IFACE": "e0", "FI_TCP_IFACE": "e0",
            # A library that is loaded first is all that leave_mpich.c asks for.
            "ASAN_OPTIONS": ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "verify_asan_link_order=0"]))}

    def launch(self, options, ranks):
        """The command that puts rank r of the program that follows on host r modulo their number. Ranks may end without
        MPI_Finalize."""
        addresses = [host.address for host in self.hosts]
        if options.vendor == "mpich":
            return [options.mpiexec, "-disable-auto-cleanup", "-iface", "control", "-launcher", "rsh", "-launcher-exec",
                    str(AGENT), "-hosts", ",".join(addresses), "-ppn", "1", "-n", str(ranks),
                    "env", f"LD_PRELOAD={options.leave_mpich}"]
        if options.vendor == "openmpi":
            # Each host takes all cores for its own, and would bind its first rank to the first one.
            settings = {"plm_rsh_agent": str(AGENT), "plm_rsh_no_tree_spawn": "1", "oob_tcp_if_include": "control,c0",
                        "pml": "ob1", "btl": "tcp,self", "btl_tcp_if_include": self.mpi,
                        "btl_tcp_disable_family": "4" if self.ipv6 else "6", "hwloc_base_binding_policy": "none"}
            return [options.mpiexec, "--enable-recovery",
                    *(word for name, value in settings.items() for word in ("--mca", name, value)),
                    "--map-by", "node", "-H", ",".join(f"{address}:{ranks}" for address in addresses), "-n", str(ranks)]
        raise Skip(f"how to launch '{options.vendor}' across hosts is not known")


def add_launcher_options(parser):
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--vendor", required=True)
    parser.add_argument("--leave-mpich", default="", help="what leave_mpich.c became")
