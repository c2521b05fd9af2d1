"""dcp_to_torch on every checkpoint of testdata/torch-*, judged by PyTorch.

For each checkpoint: the conversion succeeds, is the same when repeated and on
standard output, is a sound zip file, and holds what expected.json says. Where
PyTorch's own converter gives the right result, ours has the same values, types
and order of keys, and loads in every way in which PyTorch's output does. It
loads with weights_only=True if and only if there is no note that says it won't.
"""
import json
import logging
import pathlib
import shutil
import subprocess
import sys
import tempfile
import warnings
import zipfile

import torch
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save

import deep_compare
import harness

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)  # PyTorch logs each failure of its own

# Types that torch.load(weights_only=True) always accepts.
SAFE_TYPES = {"int", "float", "str", "bool", "NoneType", "list"}


def load(path, **kw):
    kw.setdefault("weights_only", False)
    return torch.load(path, map_location="cpu", **kw)


def reason_of(error):
    """One line of an exception: the last, PyTorch wraps the cause in many."""
    return (str(error).strip() or repr(error)).splitlines()[-1][:160]


def loads_weights_only(path):
    """None, or why torch.load(weights_only=True) refuses."""
    try:
        load(path, weights_only=True)
        return None
    except Exception as e:  # any reason counts
        return reason_of(e)


class Oracle:
    """What PyTorch's own converter makes of one checkpoint.

    verdict is "right", "wrong" (it finished, but the values are not those
    that were saved) or "fails"; reason says why.
    """

    def __init__(self, checkpoint, path, document, differences):
        self.path = path
        self.verdict, self.reason = self._convert(checkpoint, document,
                                                  differences)

    def _convert(self, checkpoint, document, differences):
        try:
            dcp_to_torch_save(str(checkpoint), str(self.path))
            got = load(self.path)
        except (Exception, CheckpointException) as e:
            return "fails", reason_of(e)
        if (checkpoint / ".metadata").exists():
            count, bad = differences(got, document)
            return ("wrong", bad[0]) if bad else ("right", "")
        # Only the chunks of rank 0 are read, the rest is left as it was in
        # memory, which may hold the right values by accident.
        return "wrong", "reads the metadata of rank 0 only"


class ConvertTest:
    def __init__(self, arguments):
        import check
        check.make_classes_importable()
        self.differences = check.differences
        self.dcpctl = arguments.dcpctl
        self.testdata = arguments.testdata
        self.only = arguments.only
        self.report = harness.Report()
        self.unzip = shutil.which("unzip")
        self.cells = {}  # (version, case) -> text of the table
        self.oracle_counts = {"right": 0, "wrong": 0, "fails": 0}
        self.noted = 0  # checkpoints that need weights_only=False

    def checkpoints(self):
        for version in sorted(self.testdata.glob("torch-*")):
            for case in sorted(version.iterdir()):
                names = (version.name, case.name,
                         f"{version.name}/{case.name}")
                if self.only and self.only not in names:
                    continue
                if (case / "ckpt").is_dir():
                    yield version.name, case.name, case

    def run(self):
        for version, case, folder in self.checkpoints():
            failed_before = self.report.failed
            with tempfile.TemporaryDirectory() as work:
                test = (self.refused if case == "hf_sharded"
                        else self.converted)
                try:
                    note = test(f"{version}/{case}", folder,
                                pathlib.Path(work))
                except Exception as e:
                    self.report.check(f"{version}/{case} test", False,
                                      repr(e)[:300])
                    note = ""
            failed = self.report.failed - failed_before
            self.cells[version, case] = f"FAIL {failed}" if failed else note
        if not self.cells:
            self.report.check("a checkpoint is there", False,
                              f"none matches {self.only}")
        self.print_table()
        return self.report.finish()

    def refused(self, name, folder, work):
        """A directory of safetensors shards is not DCP, and is named."""
        out = work / "out.pt"
        result = harness.run(self.dcpctl, "dcp_to_torch", folder / "ckpt",
                             out)
        self.report.check(f"{name} is refused with status 3",
                          result.status == 3, result.summary())
        self.report.check(f"{name} message names safetensors",
                          b"safetensors" in result.err, result.summary())
        self.report.check(f"{name} leaves nothing behind",
                          not any(work.iterdir()), list(work.iterdir()))
        return "refused"

    def converted(self, name, folder, work):
        checkpoint = folder / "ckpt"
        document = json.loads((folder / "expected.json").read_text())
        out = work / "out.pt"
        result = harness.run(self.dcpctl, "dcp_to_torch", checkpoint, out)
        if not self.report.check(f"{name} converts", result.status == 0
                                 and out.is_file(), result.summary()):
            return ""
        self.report.check(f"{name} writes nothing else",
                          list(work.iterdir()) == [out], list(work.iterdir()))
        self.noted += self.report.check_note(name, result,
                                             loads_weights_only(out))
        self.check_repeatable(name, checkpoint, out, work)
        self.check_zip(name, out)
        try:
            ours = load(out)
        except Exception as e:
            self.report.check(f"{name} loads", False, reason_of(e))
            return ""
        self.report.check(f"{name} loads", True)
        count, bad = self.differences(ours, document)
        self.report.check(f"{name} holds the {count} expected entries",
                          count and not bad, "; ".join(bad)[:300])
        self.check_mapped(name, out, ours)
        return self.compare_with_oracle(name, checkpoint, document, out, ours,
                                        work)

    def check_repeatable(self, name, checkpoint, out, work):
        data = out.read_bytes()
        (work / "again").mkdir()
        again = work / "again" / out.name
        result = harness.run(self.dcpctl, "dcp_to_torch", checkpoint, again)
        self.report.check(
            f"{name} gives the same bytes twice",
            again.is_file() and again.read_bytes() == data, result.summary())
        result = harness.run(self.dcpctl, "dcp_to_torch", checkpoint, "-")
        self.report.check(
            f"{name} gives the same bytes on standard output",
            result.status == 0 and result.out == data,
            f"{result.summary()} ({len(result.out)} of {len(data)} bytes)")

    def check_zip(self, name, out):
        try:
            with zipfile.ZipFile(out) as archive:
                bad = archive.testzip()
        except Exception as e:
            bad = reason_of(e)
        self.report.check(f"{name} passes testzip", bad is None, bad)
        if not self.unzip:
            self.report.skip(f"{name} passes unzip -t", "no unzip here")
            return
        done = subprocess.run([self.unzip, "-tqq", str(out)],
                              capture_output=True, text=True)
        self.report.check(f"{name} passes unzip -t", done.returncode == 0,
                          (done.stdout + done.stderr)[:200])

    def check_mapped(self, name, out, ours):
        try:
            mapped = load(out, mmap=True)
            found = deep_compare.first_difference(ours, mapped, strides=True)
        except Exception as e:
            found = reason_of(e)
        self.report.check(f"{name} loads with mmap=True", found is None,
                          found)

    def compare_with_oracle(self, name, checkpoint, document, out, ours,
                            work):
        oracle = Oracle(checkpoint, work / "pytorch.pt", document,
                        self.differences)
        self.oracle_counts[oracle.verdict] += 1
        if oracle.verdict != "right":
            print(f"note {name} PyTorch {torch.__version__} "
                  f"{oracle.verdict}: {oracle.reason}", flush=True)
            if all(e["kind"] == "tensor" or e["type"] in SAFE_TYPES
                   for e in document["entries"].values()):
                why = loads_weights_only(out)
                self.report.check(f"{name} loads with weights_only=True",
                                  why is None, why)
            return f"ok, PyTorch {oracle.verdict}"
        theirs = load(oracle.path)
        found = deep_compare.first_difference(ours, theirs, strides=True,
                                              order=False)
        self.report.check(f"{name} equals PyTorch's result", found is None,
                          found)
        if found is None:
            found = deep_compare.first_difference(ours, theirs, strides=True)
            self.report.check(f"{name} has PyTorch's order of keys",
                              found is None, found)
        if loads_weights_only(oracle.path) is None:
            why = loads_weights_only(out)
            self.report.check(f"{name} loads with weights_only=True",
                              why is None, why)
        return "ok"

    def print_table(self):
        """A row per case, a column per version."""
        versions = sorted({v for v, _ in self.cells}, key=version_key)
        cases = sorted({c for _, c in self.cells})
        if not cases:
            return
        rows = [["case", *(v[6:] for v in versions)]]
        for case in cases:
            rows.append([case, *(self.cells.get((v, case), "-")
                                 for v in versions)])
        widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
        for row in rows:
            print("  ".join(text.ljust(width)
                            for text, width in zip(row, widths)).rstrip())
        print(f"{self.noted} need weights_only=False, as dcpctl notes")
        print(f"PyTorch {torch.__version__}'s own converter: "
              + ", ".join(f"{n} {k}" for k, n in self.oracle_counts.items()))


def version_key(name):
    number, _, rest = name[len("torch-"):].partition("-")
    return [int(n) for n in number.split(".")], rest


def main():
    arguments = harness.parse_arguments(__doc__.splitlines()[0])
    passed, failed = deep_compare.self_test(quiet=True)
    test = ConvertTest(arguments)
    test.report.check(f"deep_compare passes {passed} checks of its own",
                      not failed, f"{failed} wrong; run deep_compare.py")
    return test.run()


if __name__ == "__main__":
    sys.exit(main())
