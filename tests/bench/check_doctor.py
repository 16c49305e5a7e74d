#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_doctor.py MPIEXEC COMMAND [PROGRAM OTHER_VERSION]: `penstock doctor` names what is wrong in each of these set-ups,
with its cure, and finds nothing there when it is mended. PROGRAM is one whose MPI stands before libpenstock; OTHER_VERSION, preloaded,
says that the library is of another version. Without them nothing is preloaded."""
import json
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile

MPIEXEC, COMMAND = sys.argv[1:3]
PROGRAM, OTHER_VERSION = sys.argv[3:5] if len(sys.argv) > 4 else (None, None)
PLAIN = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_") and name != "LD_PRELOAD"}
TUNED = {"entries": [{"collective": "alltoall", "memory": "host", "ranks": 8, "nodes": 2, "ranks_a_node": 4, "up_to_bytes": 64,
                      "algorithm": "pairwise"}]}
COPIES_OFF = "cross-memory copies are switched off"


def require(condition, text):
    if not condition:
        sys.exit(text)


def run(line, **environment):
    return subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env={**PLAIN, **environment})


def doctor(*words, before=(), **environment):
    """One process, behind the words `before`: its findings, by name, and its exit status."""
    return findings_of(run([*before, COMMAND, "doctor", "--json", *words], **environment))


def findings_of(done):
    try:
        report = json.loads(done.stdout)
    except ValueError:
        sys.exit(f"{shlex.join(done.args)} prints no JSON, with {done.returncode}: {done.stdout}{done.stderr}")
    found = {}
    for each in report["findings"]:
        found.setdefault(each["name"], []).append(each)
    levels = [each["level"] for each in report["findings"]]
    require(report["faults"] == levels.count("fault") and report["notes"] == levels.count("note"), f"counts of {report}")
    require(done.returncode == (report["faults"] > 0), f"{shlex.join(done.args)} ends with {done.returncode}: {report}")
    return found


def printed_findings(text):
    """The same of what is printed for people: one line a check, its cure on the next."""
    found = {}
    for line, after in zip(text.splitlines(), [*text.splitlines()[1:], ""]):
        if check := re.match(r"(ok|note|fault) +(\S+)  +(.*)", line):
            cure = after.removeprefix("       cure: ") if after.startswith("       cure: ") else ""
            found[check[2]] = [{"level": check[1], "found": check[3], "cure": cure, "ranks": []}]
    return found


def require_named(found, name, level, text, cure):
    for each in found.get(name, []):
        if each["level"] == level and text in each["found"] and cure in each["cure"]:
            return each
    sys.exit(f"{name}: no {level} with '{text}' and the cure '{cure}' in {json.dumps(found.get(name), indent=1)}")


def require_ok(found, *names):
    for name in names:
        require(name in found and all(each["level"] == "ok" for each in found[name]), f"{name} is not ok: {found.get(name)}")


def limited(*limits):
    """Words before a command that runs it with other limits."""
    return ["bash", "-c", "".join(f"ulimit {each} && " for each in limits) + 'exec "$@"', "bash"]


def can_have(what, least):
    most = resource.getrlimit(what)[1]
    return most in (resource.RLIM_INFINITY, -1) or most >= least


def check_environment(folder):
    """Typing error, invalid value, missing file, copies switched off, limits, order of linking: all at once, then mended."""
    program = ["--program", PROGRAM] if PROGRAM else []
    nowhere = f"{folder}/nowhere.json"
    wrong = {"PENSTOCK_TRNSPORT": "peer", "PENSTOCK_SLOTS": "banana", "PENSTOCK_TUNE": nowhere, "PENSTOCK_CMA": "0",
             "PENSTOCK_CUDA_WAIT": "auto", "PENSTOCK_TEST_SEEDS": "1"}
    done = run([*limited("-n 200", "-l 64"), COMMAND, "doctor", *program], **wrong)
    require(done.returncode == 1 and not done.stderr, f"a broken environment ends with {done.returncode}: {done.stderr}")
    found = printed_findings(done.stdout)
    require_named(found, "setting.PENSTOCK_TRNSPORT", "fault", "the nearest is PENSTOCK_TRANSPORT",
                  "export PENSTOCK_TRANSPORT=peer; unset PENSTOCK_TRNSPORT")
    require_named(found, "setting.PENSTOCK_SLOTS", "fault", "'banana' is not valid: give a whole number from 2", "unset PENSTOCK_SLOTS")
    require_named(found, "setting.PENSTOCK_CUDA_WAIT", "note", "for tests", "unset PENSTOCK_CUDA_WAIT")
    require_named(found, "setting.PENSTOCK_TEST_SEEDS", "note", "for tests", "unset PENSTOCK_TEST_SEEDS")
    require_named(found, "tuning.file", "fault", "cannot be read: No such file", f"tune collectives --output {nowhere}")
    require_named(found, "memory.copies", "note", COPIES_OFF, "unset PENSTOCK_CMA")
    require_named(found, "limits.files", "note", "ulimit -n is 200", "nofile 4096")
    require_named(found, "limits.locked", "note", "ulimit -l is 64 KiB", "memlock unlimited") if not has_rdma() else None
    if PROGRAM:
        require_named(found, "recording.program", "fault", "stands before libpenstock", "export LD_PRELOAD=/")
    require_ok(found, "library", "transport.peer", "setting.PENSTOCK_CMA", "recording.calls")

    tuned = f"{folder}/tuned.json"
    with open(tuned, "w", encoding="utf-8") as file:
        json.dump(TUNED, file)
    files, locked = can_have(resource.RLIMIT_NOFILE, 1024), can_have(resource.RLIMIT_MEMLOCK, 1 << 20) and not has_rdma()
    limits = (["-n 1024"] if files else []) + (["-l 1024"] if locked else [])
    found = doctor("--program", COMMAND, before=limited(*limits), PENSTOCK_TRANSPORT="peer", PENSTOCK_SLOTS="4", PENSTOCK_CMA="1",
                   PENSTOCK_TUNE=tuned)
    require_ok(found, "setting.PENSTOCK_TRANSPORT", "setting.PENSTOCK_SLOTS", "setting.PENSTOCK_CMA", "tuning.file", "library",
               "recording.calls", *(["limits.files"] if files else []), *(["limits.locked"] if locked else []))
    require("setting.PENSTOCK_TRNSPORT" not in found, f"{found}")
    require("for alltoall" in found["tuning.file"][0]["found"], f"{found['tuning.file']}")
    require(all(COPIES_OFF not in each["found"] for each in found["memory.copies"]), f"{found['memory.copies']}")
    if PROGRAM:
        require_ok(found, "recording.program")


def has_rdma():
    return any(os.path.isdir(folder) and os.listdir(folder) for folder in ("/sys/class/infiniband", "/sys/class/cxi"))


def check_proxy(folder):
    """`proxy` alone, below MPI_THREAD_MULTIPLE; and a file that is no JSON."""
    garbage = f"{folder}/garbage.json"
    with open(garbage, "w", encoding="utf-8") as file:
        file.write("fast: yes")
    found = doctor(PENSTOCK_TRANSPORT="proxy", PENSTOCK_TUNE=garbage, PENSTOCK_OFI_PROVIDER="nowhere")
    require_named(found, "transport.proxy", "fault", "needs MPI_THREAD_MULTIPLE", "export PENSTOCK_THREAD_MULTIPLE=1")
    require_named(found, "tuning.file", "fault", "it is no JSON at byte", "unset PENSTOCK_TUNE")
    require_named(found, "network.providers", "fault", "none serves", "unset PENSTOCK_OFI_PROVIDER")
    found = doctor(PENSTOCK_TRANSPORT="proxy", PENSTOCK_THREAD_MULTIPLE="1")
    require_ok(found, "transport.proxy", "mpi.threads", "tuning.file")


def check_ranks():
    """Two ranks on one core, of which one has an invalid setting as well."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        print("skipped: two ranks on one core of several, as there is one core")
        return
    one = ["-n", "1", "taskset", "-c", str(cores[0])]
    words = [COMMAND, "doctor", "--json"]
    found = findings_of(run([MPIEXEC, *one, *words, ":", *one, "env", "PENSTOCK_SLOTS=banana", *words]))
    each = require_named(found, "cores.ranks", "fault", "2 ranks may run on 1 core alone", "--bind-to none")
    require(each["ranks"] == [], f"all ranks have it: {each}")
    each = require_named(found, "setting.PENSTOCK_SLOTS", "fault", "banana", "unset PENSTOCK_SLOTS")
    require(each["ranks"] == [1], f"rank 1 alone has it: {each}")
    two = ["-n", "1", "taskset", "-c", str(cores[1])]
    found = findings_of(run([MPIEXEC, *one, *words, ":", *two, *words]))
    require_ok(found, "cores.ranks", "mpi.launcher")
    require("setting.PENSTOCK_SLOTS" not in found, f"{found}")


def check_shared_memory():
    """So little that MPI_Init would fail. What is mended is what every other run here has."""
    little = ["unshare", "-m", "bash", "-c", 'mount -t tmpfs -o size=1m tmpfs /dev/shm && exec "$@"', "bash"]
    tried = run([*little, "true"])
    if tried.returncode != 0:
        print(f"skipped: a small /dev/shm: {tried.stderr.strip()}")
        return
    found = doctor(before=little)
    require_named(found, "memory.shared", "fault", "/dev/shm has 1 MiB, 1 MiB are free", "mount -o remount,size=50% /dev/shm")
    enough = [word.replace("size=1m", "size=256m") for word in little]
    require_ok(doctor(before=enough), "memory.shared", "transport.peer")


def other_mpi(environment_mpi):
    """The library of the other family, if it is installed."""
    name = "libmpich.so.12" if "Open MPI" in environment_mpi else "libmpi.so.40"
    paths = re.findall(rf"^\s*{re.escape(name)} .*=> (\S+)$", run(["/sbin/ldconfig", "-p"]).stdout, re.MULTILINE)
    return paths[0] if paths else None


def check_preloaded():
    """The same MPI before libpenstock; then another MPI's library."""
    if not PROGRAM:
        print("skipped: preloaded libraries, as a sanitizer has to be the first")
        return
    mpi = doctor()["mpi.library"][0]["found"]
    own = re.search(r"\((/[^)]*)\)", mpi)[1]
    found = doctor(LD_PRELOAD=own)
    require_named(found, "recording.calls", "fault", "and not to libpenstock", "export LD_PRELOAD=/")
    require_ok(found, "library", "transport.peer", "mpi.library")
    mended = re.search(r"LD_PRELOAD=(\S+)", found["recording.calls"][0]["cure"])[1]
    require_ok(doctor(LD_PRELOAD=f"{mended}:{own}"), "recording.calls", "recording.preload", "mpi.library")
    other = other_mpi(mpi)
    if not other:
        print("skipped: the library of another MPI, as there is none")
        return
    require_named(doctor(LD_PRELOAD=other), "mpi.library", "fault", "was built for", "unset LD_PRELOAD")


def check_installations(folder):
    """The library of another version than the command; then a program that takes another copy of the library."""
    if not PROGRAM:
        return
    found = doctor(LD_PRELOAD=OTHER_VERSION)
    require_named(found, "library.version", "fault", "is penstock 0.99.7, and this command was compiled for", "unset LD_LIBRARY_PATH")
    require_ok(doctor(), "library.version")
    own = re.search(r"ready: (/.*)", doctor()["library"][0]["found"])[1]
    os.mkdir(f"{folder}/copy")
    copy = shutil.copy(own, f"{folder}/copy/libpenstock.so.0")
    # What ldd tells of a program is what its caller's variables make of it: a program that brings its own.
    script = f"{folder}/bin/ldd"
    os.mkdir(f"{folder}/bin")
    with open(script, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/bash\nLD_LIBRARY_PATH={folder}/copy exec /usr/bin/ldd "$@"\n')
    os.chmod(script, 0o755)
    found = doctor("--program", COMMAND, PATH=f"{folder}/bin:{os.environ['PATH']}")
    require_named(found, "recording.program", "note", f"takes {copy}, and this command {own}",
                  "run the penstock command of that installation")
    require_ok(doctor("--program", COMMAND), "recording.program")


def check_wrong_use():
    for words, text in ((["--jason"], "not understood: --jason"), (["--thread", "many"], "many not in {")):
        done = run([COMMAND, "doctor", *words])
        require(done.returncode == 2 and text in done.stderr, f"{words} ends with {done.returncode}: {done.stderr}")


with tempfile.TemporaryDirectory() as temporary:
    check_environment(temporary)
    check_proxy(temporary)
check_ranks()
check_shared_memory()
check_preloaded()
with tempfile.TemporaryDirectory() as temporary:
    check_installations(temporary)
check_wrong_use()
