"""torch_to_dcp on every torch.save file of testdata/, judged by PyTorch.

Of each file, in zip or stream form, with a dict at the top: the conversion
succeeds, is the same when repeated, holds what expected.json says once
dcp_to_torch has turned it back, is converted back by PyTorch's own converter
to the same as what PyTorch's own conversion gives, and loads with
torch.distributed.checkpoint.load in one process. Of the others: an orderly
refusal that says what they are, or a right result.
"""
import json
import logging
import pathlib
import sys
import tempfile
import warnings

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.format_utils import (dcp_to_torch_save,
                                                       torch_save_to_dcp)

import deep_compare
import harness

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)  # PyTorch logs each failure of its own

# What may be refused, and the words of the refusal that say what it is.
MAY_REFUSE = {
    "bare": "tensor",
    "list": "list",
    "module": "module|object|Linear",
    "sparse": "sparse",
    "quant": "quant|qint",
    "conj": "conj",
    "storage": "storage",
    "unknown_order": "big-endian",
}
LEGACY = ".legacy"  # the stream form
TO_COME = b"not in this version yet"


def load(path):
    return torch.load(path, map_location="cpu", weights_only=False)


def reason_of(error):
    """One line of an exception: the last, PyTorch wraps the cause in many."""
    return (str(error).strip() or repr(error)).splitlines()[-1][:160]


def files_of(folder):
    return {p.name: p.read_bytes() for p in sorted(folder.iterdir())}


class TorchToDcpTest:
    def __init__(self, arguments):
        import check
        check.make_classes_importable()
        self.differences = check.differences
        self.dcpctl = arguments.dcpctl
        self.testdata = arguments.testdata
        self.only = arguments.only
        self.report = harness.Report()
        self.counts = {"equal to PyTorch's": 0, "PyTorch fails": 0,
                       "refused": 0}

    def files(self):
        for folder in sorted(self.testdata.glob("torch-*/files")):
            document = json.loads((folder / "expected.json").read_text())
            for path in sorted(folder.glob("*.pt")):
                version, case = folder.parent.name, path.stem
                names = (version, case, f"{version}/{case}")
                if self.only and self.only not in names:
                    continue
                yield f"{version}/{case}", path, document

    def run(self):
        found = False
        for name, path, document in self.files():
            found = True
            with tempfile.TemporaryDirectory() as work:
                try:
                    self.convert(name, path, document, pathlib.Path(work))
                except Exception as e:
                    self.report.check(f"{name} test", False, repr(e)[:300])
        if not found:
            self.report.check("a file is there", False,
                              f"none matches {self.only}")
        print(f"PyTorch {torch.__version__}: "
              + ", ".join(f"{n} {what}" for what, n in self.counts.items()))
        return self.report.finish()

    def convert(self, name, path, document, work):
        out = work / "ckpt"
        result = harness.run(self.dcpctl, "torch_to_dcp", path, out)
        if TO_COME in result.err:
            self.report.skip(f"{name} converts",
                             "the program says it is to come")
            return
        words = MAY_REFUSE.get(path.stem.removesuffix(LEGACY))
        if words and result.status != 0:
            self.refused(name, path, words, result, work)
            return
        if not self.report.check(f"{name} converts", result.status == 0
                                 and out.is_dir(), result.summary()):
            return
        self.report.check(f"{name} writes nothing else",
                          list(work.iterdir()) == [out], list(work.iterdir()))
        self.check_files(name, path, out, work)
        back = self.check_back(name, path, out, document, work)
        if back is not None:
            self.check_load(name, out, back)
        ours = self.converted_back(name, out, work)
        if ours is not None:
            self.check_against_pytorch(name, path, ours, work)

    def refused(self, name, path, words, result, work):
        self.counts["refused"] += 1
        self.report.check(f"{name} is refused with status 3",
                          result.status == 3, result.summary())
        text = (result.out + result.err).decode(errors="replace")
        for own in (path, path.name):
            text = text.replace(str(own), "")
        found = any(w.lower() in text.lower() for w in words.split("|"))
        self.report.check(f"{name} refusal mentions {words}", found,
                          text.strip()[:200])
        self.report.check(f"{name} leaves nothing behind",
                          not any(work.iterdir()), list(work.iterdir()))

    def check_files(self, name, path, out, work):
        """One file of data, and the same bytes on every run."""
        self.report.check(
            f"{name} makes one data file",
            sorted(p.name for p in out.iterdir())
            == [".metadata", "__0_0.distcp"], list(out.iterdir()))
        again = work / "again"
        result = harness.run(self.dcpctl, "torch_to_dcp", path, again,
                             "--jobs", "1")
        self.report.check(
            f"{name} gives the same bytes twice", again.is_dir()
            and files_of(again) == files_of(out), result.summary())

    def check_back(self, name, path, out, document, work):
        """dcp_to_torch gives what the file is known to hold; returns that."""
        back = work / "back.pt"
        result = harness.run(self.dcpctl, "dcp_to_torch", out, back)
        if not self.report.check(f"{name} converts back", result.status == 0,
                                 result.summary()):
            return None
        try:
            torch.load(back, map_location="cpu", weights_only=True)
            why = None
        except Exception as e:  # any reason counts
            why = reason_of(e)
        self.report.check_note(f"{name} converted back", result, why)
        value = load(back)
        count, bad = self.differences(value, document, path.name)
        self.report.check(f"{name} holds the {count} expected entries",
                          count and not bad, "; ".join(bad)[:300])
        return value

    def converted_back(self, name, out, work):
        """What PyTorch makes of our checkpoint; None when it fails."""
        target = work / "pytorch_of_ours.pt"
        try:
            dcp_to_torch_save(str(out), str(target))
            ours = load(target)
        except (Exception, CheckpointException) as e:
            why = self.why_pytorch_cannot(out)
            if why:
                print(f"note {name}: {why}", flush=True)
                return None
            self.report.check(f"{name} is converted by PyTorch", False,
                              reason_of(e))
            return None
        self.report.check(f"{name} is converted by PyTorch", True)
        return ours

    @staticmethod
    def why_pytorch_cannot(out):
        """Why PyTorch can't convert a sound checkpoint back; "" if it can.

        A list that holds an empty dict has a position without an entry.
        """
        paths = dcp.FileSystemReader(str(out)).read_metadata().planner_data
        lists = {}
        for path in paths.values():
            for i, element in enumerate(path):
                if isinstance(element, int):
                    lists.setdefault(path[:i], set()).add(element)
        gaps = [p for p, have in lists.items() if len(have) <= max(have)]
        return f"list {gaps[0]} has a gap" if gaps else ""

    def check_against_pytorch(self, name, path, ours, work):
        theirs = work / "pytorch_ckpt"
        try:
            torch_save_to_dcp(str(path), str(theirs))
            dcp_to_torch_save(str(theirs), str(work / "pytorch.pt"))
            expected = load(work / "pytorch.pt")
        except (Exception, CheckpointException) as e:
            self.counts["PyTorch fails"] += 1
            print(f"note {name} PyTorch {torch.__version__} fails: "
                  f"{reason_of(e)}", flush=True)
            return
        self.counts["equal to PyTorch's"] += 1
        found = deep_compare.first_difference(ours, expected)
        self.report.check(f"{name} equals PyTorch's result", found is None,
                          found)

    def check_load(self, name, out, value):
        """torch.distributed.checkpoint.load fills in what value holds.

        The target has the flat keys, with zeros for tensors and for objects.
        """
        metadata = dcp.FileSystemReader(str(out)).read_metadata()
        expected = {}
        target = {}
        for key, entry in metadata.state_dict_metadata.items():
            expected[key] = value
            for element in metadata.planner_data[key]:
                expected[key] = expected[key][element]
            is_tensor = isinstance(entry, dcp.metadata.TensorStorageMetadata)
            target[key] = (torch.zeros(entry.size,
                                       dtype=entry.properties.dtype)
                           if is_tensor else 0)
        try:
            dcp.load(target, checkpoint_id=str(out))
            found = next(
                (f"{key}: {why}" for key in expected
                 if (why := deep_compare.first_difference(target[key],
                                                          expected[key]))),
                None)
        except (Exception, CheckpointException) as e:
            found = reason_of(e)
        self.report.check(f"{name} loads with checkpoint.load",
                          found is None, found)


def main():
    arguments = harness.parse_arguments(__doc__.splitlines()[0])
    return TorchToDcpTest(arguments).run()


if __name__ == "__main__":
    sys.exit(main())
