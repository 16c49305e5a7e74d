#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What shells and man are told of the command: bash completes (the function, and once at a prompt), zsh where it is there,
and each subcommand has a manual page with each of its options.

Usage: check_words.py COMMAND
"""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

COMMAND = sys.argv[1]


def output_of(*words, **options):
    return subprocess.run(words, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL, **options).stdout


def completions(script, lines):
    """What bash's function answers for each line, whose last word the cursor stands in."""
    text = f". {script}\n"
    for line in lines:
        # As readline splits words: "=" is one of its own.
        words = [word for word in re.split(r"(=)|\s", line) if word is not None]
        words = [word for word in words[:-1] if word] + words[-1:]
        quoted = " ".join(f"'{word}'" for word in words)
        text += f'COMP_WORDS=({quoted}) COMP_CWORD={len(words) - 1}; _penstock; echo "${{COMPREPLY[*]}}"\n'
    answers = output_of("bash", "--norc", "-c", text).splitlines()
    return dict(zip(lines, (set(answer.split()) for answer in answers)))


def at_prompt(shell, setup, typed, wanted):
    """Types at the prompt of a shell until `wanted` is to be seen there."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ.update(PS1="ready> ", TERM="dumb", COLUMNS="200")
        os.execvp(shell[0], shell)
    seen, sent = "", False
    os.write(terminal, setup.encode() + b"\necho set-up-is-'done'\n")
    try:
        while wanted not in re.sub(r"[ \b]+", " ", seen):  # shells draw blanks again
            if not select.select([terminal], [], [], 60)[0]:
                break
            seen += os.read(terminal, 4096).decode(errors="replace")
            if not sent and "set-up-is-done" in seen:
                os.write(terminal, typed.encode())
                sent = True
    except OSError:
        pass
    finally:
        os.close(terminal)
        os.waitpid(child, 0)
    assert wanted in re.sub(r"[ \b]+", " ", seen), f"{shell[0]} completes '{typed!r}' to:\n{seen}"


def check_completion(folder):
    script = folder / "penstock"
    script.write_text(output_of(COMMAND, "completion", "bash"))
    expected = {
        "penstock do": {"doctor"},
        "penstock bench a": {"allreduce", "allgather", "alltoall", "alltoallv"},
        "penstock bench latency --tr": {"--transport"},
        "penstock bench latency --transport ": {"peer", "ofi", "proxy"},
        "penstock bench latency --transport=pr": {"proxy"},
        "penstock bench latency --transport peer,o": {"peer,ofi"},
        "penstock --transport peer bench bw --thread m": {"multiple"},
        "penstock tune collectives --collectives barrier,bc": {"barrier,bcast"},
        "penstock doctor --thread f": {"funneled"},
        "penstock doctor --program ": set(),  # a file, which readline finds
        "penstock bench latency --rounds ": set(),
        "penstock completion z": {"zsh"},
        "penstock model ": set(),  # a file
        "penstock model --la": {"--latency"},
        "penstock plot ": PICTURES | {"--table"},
        "penstock plot curves ": set(),  # files
        "penstock plot --table ": set(),
    }
    got = completions(script, expected)
    assert got == expected, "\n".join(f"{line}: {got[line]}" for line in expected if got[line] != expected[line])
    at_prompt(
        ["bash", "--norc", "-i"],
        f". {script}",
        "penstock bench message\t--tra\tpro\t",
        "message-rate --transport proxy",
    )
    if shutil.which("zsh"):
        zsh = folder / "_penstock"
        zsh.write_text(output_of(COMMAND, "completion", "zsh"))
        at_prompt(
            ["zsh", "-f", "-i"],
            f"autoload -U compinit; compinit -D; . {zsh}",
            "penstock bench message\t--tra\tpro\t",
            "message-rate --transport proxy",
        )


PICTURES = set(re.findall(r'add_picture\(parts, "(\w+)"', (Path(__file__).parents[2] / "tools/plot/penstock_plot/command.py").read_text()))


def subcommands(*words):
    """The command lines of all subcommands below these words, by --help."""
    if words[:1] == ("plot",):  # those of another program, which may lack what it draws with
        yield words, ""
        names = PICTURES if words == ("plot",) else ()
    else:
        text = output_of(COMMAND, *words, "--help")
        yield words, text
        names = re.findall(r"^  ([a-z-]+)\b", text.partition("\nSubcommands:\n")[2], re.M)
    for name in names:
        yield from subcommands(*words, name)


def check_pages(folder):
    pages = folder / "pages"
    output_of(COMMAND, "manual", str(pages))
    told = {path.stem: path.read_text() for path in pages.iterdir()}
    there = {"-".join(("penstock",) + words): text for words, text in subcommands()}
    assert len(there) > 25 and told.keys() == there.keys(), told.keys() ^ there.keys()
    for name, text in there.items():
        plain = told[name].replace("\\-", "-")
        for option in re.findall(r"^  (?:-\w,)?(--?[a-z-]+)", text, re.M):
            assert f"\\fB{option}\\fR" in plain, f"{name}(1) does not tell of {option}"
    if shutil.which("groff"):
        done = subprocess.run(
            ["groff", "-man", "-ww", "-Wbreak", "-Tutf8", "-z", *sorted(map(str, pages.iterdir()))],
            capture_output=True,
            text=True,
        )
        assert not done.stderr, done.stderr


with tempfile.TemporaryDirectory() as work:
    check_completion(Path(work))
    check_pages(Path(work))
