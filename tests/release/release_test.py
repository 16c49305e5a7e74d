#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""release_test.py ROOT: what tools/release refuses, in a small repository of its own; that it leaves no trace with --dry-run;
how it finds two builds that differ; what it says is bundled. Status 77 without git."""

import datetime
import importlib.machinery
import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(sys.argv[1])
TODAY = str(datetime.date.today())
HEADER = "#define PST_VERSION_MAJOR 1\n#define PST_VERSION_MINOR 2\n#define PST_VERSION_PATCH 3\n"


class Repository:
    def __init__(self, folder):
        self.folder = folder
        (folder / "include/penstock").mkdir(parents=True)
        (folder / "tools").mkdir()
        shutil.copy(ROOT / "tools/release", folder / "tools/release")
        self.git("init", "--quiet")
        self.commit("include/penstock/penstock.h", HEADER)
        self.commit("CHANGELOG.md", f"# Changelog\n\n## 1.2.3 ({TODAY})\n\n- All.\n\n## 1.2.2 (2020-01-01)\n")

    def git(self, *words):
        return subprocess.run(
            ["git", "-c", "user.name=Test", "-c", "user.email=test@example.org", *words],
            cwd=self.folder,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    def commit(self, name, text):
        (self.folder / name).write_text(text)
        self.git("add", "-A")
        self.git("commit", "--quiet", "--no-verify", "-m", f"Write {name}")

    def release(self, *words):
        return subprocess.run(
            [sys.executable, self.folder / "tools/release", *words],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )


def refuses(repository, version, *texts):
    for words in ((version,), (version, "--dry-run")):
        done = repository.release(*words)
        assert done.returncode != 0, f"{words} is not refused: {done.stdout}"
        for text in texts:
            assert text in done.stderr, f"{words}: expected '{text}' in: {done.stderr}"
    assert not (repository.folder / "build").exists()


def check_refusals(folder):
    repository = Repository(folder)
    done = repository.release("1.2.3", "--dry-run")
    assert done.returncode == 0 and "make test-all" in done.stdout and "git tag -a v1.2.3" in done.stdout, done
    assert not repository.git("tag") and not (folder / "build").exists()

    refuses(repository, "1.2", "'1.2' is no version")
    refuses(repository, "1.2.4", "penstock.h says 1.2.3", "CHANGELOG.md begins with 1.2.3")
    (folder / "left").write_text("something")
    refuses(repository, "1.2.3", "the tree is not clean", "left")
    (folder / "left").unlink()
    changelog = (folder / "CHANGELOG.md").read_text()
    for day in ("unreleased", str(datetime.date.today() + datetime.timedelta(days=2)), "2020-13-01"):
        repository.commit("CHANGELOG.md", changelog.replace(TODAY, day))
        refuses(repository, "1.2.3", f"CHANGELOG.md says '1.2.3 ({day})'")
    repository.commit("CHANGELOG.md", changelog)
    repository.git("tag", "v1.2.3")
    refuses(repository, "1.2.3", "the tag v1.2.3 is there already")


def check_differences(release, folder):
    for build in ("one", "other"):
        (folder / build / "html").mkdir(parents=True)
        (folder / build / "a.deb").write_text("the same")
        (folder / build / "html/index.html").write_text("the same")
    assert release.differences(folder / "one", folder / "other") == []
    (folder / "one/a.deb").write_text("another")
    (folder / "other/html/more.html").write_text("more")
    assert release.differences(folder / "one", folder / "other") == ["a.deb", "html/more.html"]


def check_bill(release):
    bill = json.loads(json.dumps(release.bill_of_materials("1.2.3", "0" * 40, "1700000000")))
    packages = {each["name"]: each for each in bill["packages"]}
    assert (
        packages["penstock"]["versionInfo"] == "1.2.3" and packages["libcli11-dev"]["licenseDeclared"] == "BSD-3-Clause"
    )
    assert (
        packages["furo"]["versionInfo"] in (ROOT / "tools/setup").read_text()
        and packages["furo"]["versionInfo"] != "NOASSERTION"
    )
    assert bill["creationInfo"]["created"] == "2023-11-14T22:13:20Z"
    related = {each["relatedSpdxElement"] for each in bill["relationships"]}
    assert related == {each["SPDXID"] for each in bill["packages"]}


if not shutil.which("git"):
    print("skipped: no git")
    sys.exit(77)
loader = importlib.machinery.SourceFileLoader("release", str(ROOT / "tools/release"))
module = importlib.util.module_from_spec(importlib.util.spec_from_loader("release", loader))
loader.exec_module(module)
with tempfile.TemporaryDirectory() as work:
    check_refusals(Path(work) / "repository")
    check_differences(module, Path(work))
    check_bill(module)
