"""torch_to_dcp --compat 1.13, read by PyTorch 1.13 itself.

Of each torch.save file of testdata/ that PyTorch 1.13 can read: a checkpoint
of it, loaded by torch.distributed._shard.checkpoint, holds equal tensors and
objects. The environment variable DCPCTL_OLD_PYTHON names a Python with that
PyTorch, such as that of Debian 12; without it nothing is checked.
"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import harness

HERE = pathlib.Path(__file__).parent
VERSION = "1.13"
REFUSED = ["bare", "list", "module"]  # no dict at the top


class OldPytorchTest:
    def __init__(self, arguments):
        self.dcpctl = arguments.dcpctl
        self.testdata = arguments.testdata
        self.only = arguments.only
        self.report = harness.Report()
        self.not_read = collections.defaultdict(list)  # reason -> names

    def files(self):
        for path in sorted(self.testdata.glob("torch-*/files/*.pt")):
            name = f"{path.parent.parent.name}/{path.stem}"
            if path.stem in REFUSED or path.stem.endswith(".legacy"):
                continue
            if self.only in (None, name, *name.split("/")):
                yield name, path

    def run(self, python):
        with tempfile.TemporaryDirectory(dir=harness.scratch()) as work:
            work = pathlib.Path(work)
            cases = list(self.converted(work))
            listed = work / "cases.json"
            listed.write_text(json.dumps(cases))
            for result in self.read(python, listed, len(cases)):
                self.judge(result)
        for why, names in self.not_read.items():
            print(f"note PyTorch {VERSION} does not read the files "
                  f"{', '.join(names)}: {why}")
        return self.report.finish()

    def converted(self, work):
        for i, (name, path) in enumerate(self.files()):
            folder = work / str(i)
            result = harness.run(self.dcpctl, "torch_to_dcp", "--compat",
                                 VERSION, path, folder)
            if b"PyTorch 1.13 has no " in result.err:
                # A type that came later; PyTorch 1.13 has no name for it.
                self.report.check(f"{name} is refused", result.status == 3
                                  and not folder.exists(), result.summary())
                self.not_read["types that came later"].append(name)
                continue
            if self.report.check(f"{name} converts", result.status == 0,
                                 result.summary()):
                yield name, str(path), str(folder)

    def read(self, python, listed, count):
        """What the old PyTorch says, a document for each case."""
        environment = {**os.environ, "PYTHONPATH": str(self.testdata)}
        done = subprocess.run(
            [python, HERE / "old_pytorch_reader.py", listed],
            capture_output=True, text=True, env=environment)
        lines = done.stdout.splitlines()
        self.report.check(f"PyTorch {VERSION} ends in order",
                          done.returncode == 0 and len(lines) == count,
                          done.stderr.strip()[-500:])
        return map(json.loads, lines)

    def judge(self, result):
        if result["skip"]:
            self.not_read[result["skip"]].append(result["name"])
            return
        self.report.check(f"{result['name']}: PyTorch {VERSION} reads "
                          f"{result['entries']} equal entries",
                          result["why"] is None, result["why"])


def main():
    arguments = harness.parse_arguments(__doc__.splitlines()[0])
    test = OldPytorchTest(arguments)
    python = os.environ.get("DCPCTL_OLD_PYTHON")
    if not python:
        test.report.skip(f"all with PyTorch {VERSION}",
                         "DCPCTL_OLD_PYTHON is not set")
        return test.report.finish()
    return test.run(python)


if __name__ == "__main__":
    sys.exit(main())
