"""Unusual, damaged and hostile checkpoints of testdata/odd.

What must happen to each case is in testdata/odd/index.json, whose fields
testdata/generate_odd.py explains. Besides that, inspect and verify must end
in an orderly way on every case, nothing may be run, and a refusal must leave
no output.
"""
import hashlib
import json
import pathlib
import re
import resource
import sys
import tempfile
import warnings

import torch

import harness

warnings.filterwarnings("ignore")

RAN = "dcpctl_ran_this"  # the file that the hostile pickles would make
MEMORY = 2 << 30  # bytes of address space; no case is larger than 100 KB
ERROR_LINE = re.compile(rb"^\S.*error: .+", re.MULTILINE)
VERIFY_STATUS = {"ok": [0], "error": [1, 3], "any": [0, 1, 3]}
INSPECT_STATUS = {"ok": [0], "error": [0, 1, 3], "any": [0, 1, 3]}


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def fingerprint(folder):
    """Names and digests of all files below a folder."""
    return {str(p.relative_to(folder)):
            hashlib.sha256(p.read_bytes()).hexdigest()
            for p in sorted(folder.rglob("*")) if p.is_file()}


class OddTest:
    def __init__(self, arguments, limits):
        import check
        check.make_classes_importable()
        self.differences = check.differences
        self.dcpctl = arguments.dcpctl
        self.odd = arguments.testdata / "odd"
        self.only = arguments.only
        self.limits = limits
        self.report = harness.Report()
        self.planned = {}

    def run(self):
        index = json.loads((self.odd / "index.json").read_text())
        folders = {p.name for p in self.odd.iterdir() if p.is_dir()}
        self.report.check("index.json lists every folder",
                          folders == set(index), folders ^ set(index))
        chosen = [n for n in index if self.only in (None, n, f"odd/{n}")]
        if not chosen:
            self.report.check("a case is there", False,
                              f"none matches {self.only}")
        for name in chosen:
            before = fingerprint(self.odd / name)
            self.run_case(name, index[name])
            self.report.check(f"{name} is left as it was",
                              fingerprint(self.odd / name) == before,
                              "files changed")
        return self.report.finish()

    def dcpctl_in(self, work, *arguments):
        return harness.run(self.dcpctl, *arguments, cwd=work,
                           limits=self.limits)

    def is_planned(self, command):
        """Whether the program says that the command will come later."""
        if command not in self.planned:
            result = harness.run(self.dcpctl, command, "--help")
            self.planned[command] = b"not in this version yet" in result.err
            if self.planned[command]:
                self.report.skip(f"all of {command}",
                                 "the program says it is to come")
        return self.planned[command]

    def run_case(self, name, entry):
        source = self.odd / name / entry.get("path", "ckpt")
        command = entry.get("command", "dcp_to_torch")
        if self.is_planned(command):
            return
        with tempfile.TemporaryDirectory() as work:
            work = pathlib.Path(work)
            target = [] if command == "inspect" else [work / "out.pt"]
            result = self.dcpctl_in(work, command, source, *target,
                                    *entry.get("args", []))
            label = f"{name} {command}"
            self.judge(name, entry, label, result, work)
            self.check_message(label, entry, source, result)
            self.check_ran_nothing(label, work)
        for other, allowed in (
                (["inspect"], INSPECT_STATUS[entry["expect"]]),
                (["verify", "--payload"],
                 entry.get("verify", VERIFY_STATUS[entry["expect"]]))):
            if other == [command] or self.is_planned(other[0]):
                continue
            with tempfile.TemporaryDirectory() as work:
                result = self.dcpctl_in(work, *other, source)
                label = f"{name} {' '.join(other)}"
                self.report.check(
                    f"{label} ends with {' or '.join(map(str, allowed))}",
                    result.status in allowed and not result.crashed(),
                    result.summary())
                self.check_ran_nothing(label, pathlib.Path(work))

    def judge(self, name, entry, label, result, work):
        """The command of the case did what the index says."""
        expect = entry["expect"]
        if expect == "any":
            ok = result.status in (0, 3) and not result.crashed()
            self.report.check(f"{label} ends in order", ok, result.summary())
        elif expect == "ok":
            if self.report.check(f"{label} succeeds", result.status == 0,
                                 result.summary()):
                self.check_values(label, self.odd / name, work / "out.pt")
        else:
            self.report.check(f"{label} is refused with status 3",
                              result.status == 3, result.summary())
            self.report.check(f"{label} says so in one line",
                              ERROR_LINE.search(result.err),
                              result.summary())
        if expect == "error" or result.status:
            left = [p.name for p in work.iterdir() if p.name != RAN]
            self.report.check(f"{label} leaves no output", not left, left)

    def check_message(self, label, entry, source, result):
        """The words are there, and not only as a part of our own paths."""
        text = (result.out + result.err).decode(errors="replace")
        for own in (source, self.odd, source.name):
            text = text.replace(str(own), "")
        for words in entry.get("message_contains", []):
            found = any(w.lower() in text.lower() for w in words.split("|"))
            self.report.check(f"{label} mentions {words}", found,
                              result.summary())

    def check_values(self, label, folder, out):
        expected = folder / "expected.json"
        if not expected.is_file():
            return
        try:
            got = torch.load(out, weights_only=False)
            count, bad = self.differences(got,
                                          json.loads(expected.read_text()))
        except Exception as e:
            count, bad = 0, [repr(e)[:300]]
        self.report.check(f"{label} gives the {count} expected entries",
                          count and not bad, "; ".join(bad)[:300])

    def check_ran_nothing(self, label, work):
        ran = [p for p in (work / RAN, pathlib.Path(RAN)) if p.exists()]
        self.report.check(f"{label} runs no code", not ran,
                          "the checkpoint's code was run")


def main():
    arguments = harness.parse_arguments(__doc__.splitlines()[0])
    # A sanitizer reserves far more address space than the limit.
    sanitized = b"__asan_init" in arguments.dcpctl.read_bytes()
    return OddTest(arguments, None if sanitized else limit_memory).run()


if __name__ == "__main__":
    sys.exit(main())
