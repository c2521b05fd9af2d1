"""convert --to dcp on every checkpoint of testdata/torch-*, judged by PyTorch.

Each is written anew in every way that dcpctl has: laid out again, with its data
files copied or linked, as metadata alone, and for versions of PyTorch that take
containers apart by other rules. Whatever the way, the source is left as it was,
dcp_to_torch gives the same state as from the source, and so does PyTorch's own
converter, also where it can't read the source. What is written for PyTorch 2.3
or 2.13 has the entries that this PyTorch made of the same state.
"""
import json
import logging
import pathlib
import shutil
import sys
import tempfile
import warnings

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save

import deep_compare
import harness
from torch_to_dcp_test import TorchToDcpTest

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)  # PyTorch logs each failure of its own

# name -> arguments; None: metadata alone, put beside copies of the data files.
WAYS = {
    "rewritten": ["--to", "dcp"],
    "copied": ["--to", "dcp", "--data", "copy"],
    "linked": ["--to", "dcp", "--data", "link"],
    "metadata only": None,
    "for 2.13": ["--to", "dcp", "--compat", "2.13"],
    "copied for 2.13": ["--to", "dcp", "--data", "copy", "--compat", "2.13"],
    "for 2.3": ["--to", "dcp", "--compat", "2.3"],
}
# Keys that one version has and the other has not, for another reason.
OTHER_REASONS = {
    "k.0": "2.4 and later drop an empty dict when they save",
    "a.b.e": "2.4 and later drop an empty dict when they save",
    "optimizer.param_groups.0.decoupled_weight_decay": "new in Adam",
}
# The same state, as two versions that flatten by different rules saved it.
FLATTENED = ("structure", "recipe_fsdp1", "objects")
OLD, NEW = "torch-2.3.1", "torch-2.13.0"


def load(path):
    return torch.load(path, map_location="cpu", weights_only=False)


def reason_of(error):
    return (str(error).strip() or repr(error)).splitlines()[-1][:160]


def files_of(folder):
    return {p.relative_to(folder): p.read_bytes()
            for p in sorted(folder.rglob("*")) if p.is_file()}


def with_text_keys(value):
    """What 1.13 kept in one object, after a dict was taken apart by its keys."""
    if isinstance(value, dict):
        return {str(k): with_text_keys(v) for k, v in value.items()}
    if isinstance(value, list):
        return [with_text_keys(v) for v in value]
    return value


class DcpToDcpTest:
    def __init__(self, arguments):
        import check
        check.make_classes_importable()
        self.differences = check.differences
        self.dcpctl = arguments.dcpctl
        self.testdata = arguments.testdata
        self.only = arguments.only
        self.report = harness.Report()
        self.counts = {"read by PyTorch": 0, "beyond PyTorch": 0}

    def checkpoints(self):
        for version in sorted(self.testdata.glob("torch-*")):
            for case in sorted(version.iterdir()):
                names = (version.name, case.name,
                         f"{version.name}/{case.name}")
                if self.only and self.only not in names:
                    continue
                if (case / "ckpt").is_dir() and case.name != "hf_sharded":
                    yield "/".join(names[:2]), case

    def run(self):
        found = False
        for name, folder in self.checkpoints():
            found = True
            with tempfile.TemporaryDirectory() as work:
                try:
                    self.convert(name, folder, pathlib.Path(work))
                except Exception as e:
                    self.report.check(f"{name} test", False, repr(e)[:300])
        if not found:
            self.report.check("a checkpoint is there", False,
                              f"none matches {self.only}")
        print(f"PyTorch {torch.__version__}: "
              + ", ".join(f"{n} {what}" for what, n in self.counts.items()))
        return self.report.finish()

    def convert(self, name, folder, work):
        document = json.loads((folder / "expected.json").read_text())
        source = work / "source"
        shutil.copytree(folder / "ckpt", source)
        before = files_of(source)
        state = self.state_of(f"{name} source", source, work)
        if state is None:
            return
        count, bad = self.differences(state, document)
        self.report.check(f"{name} holds the {count} expected entries",
                          count and not bad, "; ".join(bad)[:300])
        for way, arguments in WAYS.items():
            out = work / way.replace(" ", "_")
            if not self.write(f"{name} {way}", source, out, arguments):
                continue
            self.check(f"{name} {way}", out, state, work)
        self.check_entries(name, folder, work)
        self.report.check(f"{name} leaves the source as it was",
                          files_of(source) == before, "it changed")

    def write(self, name, source, out, arguments):
        if arguments is None:
            out.mkdir()
            for file in source.rglob("*.distcp"):
                copy = out / file.relative_to(source)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, copy)
            arguments = ["--metadata-only", out / ".metadata"]
        else:
            arguments = [out, *arguments]
        result = harness.run(self.dcpctl, "convert", source, *arguments)
        if name.endswith(" for 2.3") and b"PyTorch 2.3 has no " in result.err:
            self.report.check(f"{name} is refused", result.status == 3
                              and not out.exists(), result.summary())
            return False
        return self.report.check(f"{name} converts", result.status == 0,
                                 result.summary())

    def state_of(self, name, checkpoint, work):
        target = work / "state.pt"
        result = harness.run(self.dcpctl, "dcp_to_torch", checkpoint, target,
                             "--force")
        if self.report.check(f"{name} converts to torch", result.status == 0,
                             result.summary()):
            return load(target)
        return None

    def check(self, name, out, state, work):
        ours = self.state_of(name, out, work)
        if name.startswith("torch-1.13.1/") and " for 2" in name:
            state = with_text_keys(state)
        found = deep_compare.first_difference(ours, state)
        self.report.check(f"{name} holds the same", found is None, found)
        target = work / "pytorch.pt"
        try:
            dcp_to_torch_save(str(out), str(target))
        except (Exception, CheckpointException) as e:
            if "no module named 'zstandard'" in reason_of(e):
                self.report.skip(f"{name} is read by PyTorch",
                                 "it needs the package zstandard")
                return
            why = TorchToDcpTest.why_pytorch_cannot(out)
            self.counts["beyond PyTorch"] += 1
            self.report.check(f"{name} is read by PyTorch", why, reason_of(e))
            return
        self.counts["read by PyTorch"] += 1
        found = deep_compare.first_difference(load(target), state)
        self.report.check(f"{name} is the same to PyTorch", found is None,
                          found)

    def check_entries(self, name, folder, work):
        """What is written for another PyTorch has the entries of its own."""
        version, case = name.split("/")
        if case not in FLATTENED or version not in (OLD, NEW):
            return
        other, way = ((NEW, "for_2.13") if version == OLD
                      else (OLD, "for_2.3"))
        theirs = self.testdata / other / case / "ckpt"
        if not self.report.check(f"{name} was saved by both", theirs.is_dir(),
                                 theirs):
            return
        odd = self.keys_of(work / way) ^ self.keys_of(theirs)
        self.report.check(f"{name} has the entries of {other}",
                          odd <= set(OTHER_REASONS), odd)

    @staticmethod
    def keys_of(checkpoint):
        metadata = dcp.FileSystemReader(str(checkpoint)).read_metadata()
        return set(metadata.state_dict_metadata)


def main():
    return DcpToDcpTest(harness.parse_arguments(__doc__.splitlines()[0])).run()


if __name__ == "__main__":
    sys.exit(main())
