"""inspect --stats finds what PyTorch does, and verify --values what is NaN.

Minimum, maximum and counts are exactly PyTorch's, and mean and deviation true
to 1e-12, which torch.std in float64 is not for a million elements, for tensors
of all real types and sizes around the limits of blocks, and for checkpoints of
testdata. Threads, memory and layout do not show in the result.
DCPCTL_PLUGIN_DIR names the plug-in to be tested, where it is not the one
beside the program. The case "made" is all but testdata.
"""
import json
import math
import pathlib
import sys
import tempfile

import numpy
import torch

import harness

numpy.seterr(invalid="ignore")  # of infinities

BLOCK = 65536
GROUP = 16 * BLOCK
FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
FLOAT8 = [torch.float8_e4m3fn, torch.float8_e5m2]
RUNS = [["-j1"], ["-j2", "--memory=4M"], ["-j3"]]
FIXTURES = ["torch-2.13.0/recipe_fsdp2", "torch-2.13.0/dtypes",
            "torch-2.13.0/strides", "torch-2.13.0/mesh",
            "torch-1.13.1/dtypes", "torch-1.13.1/strides",
            "torch-2.13.0/zstd"]


def tensors():
    generator = torch.Generator().manual_seed(30)
    out = {}
    for count in (1, 2, 63, BLOCK - 1, BLOCK, BLOCK + 1, GROUP + 12345):
        values = torch.randn(count, dtype=torch.float64, generator=generator)
        for dtype in FLOATS + FLOAT8:
            out[f"{dtype} {count}"] = (values * 3 + 0.5).to(dtype)
        for dtype in INTEGERS:
            limits = torch.iinfo(dtype)
            out[f"{dtype} {count}"] = torch.randint(
                limits.min, limits.max, (count,), dtype=dtype,
                generator=generator)
        out[f"bool {count}"] = values > 0
    out["far from zero"] = values.to(torch.float32) + 1e6
    out["transposed"] = values[:600 * 700].reshape(600, 700).t()
    out["view"] = values[:600 * 700].reshape(600, 700)[3:99, ::7]
    out["extremes"] = torch.tensor([-2 ** 63, 2 ** 63 - 1, 5])
    out["unsigned"] = torch.tensor([1, 2 ** 64 - 1], dtype=torch.uint64)
    out["scalar"] = torch.tensor(2.5)
    out["empty"] = torch.empty(3, 0)
    bad = values.to(torch.float32).reshape(-1)[:200000].clone()
    bad[[77777, 150000]] = math.nan
    bad[[5, 66666, 199999]] = torch.tensor([math.inf, -math.inf, math.inf])
    out["nan"] = bad.reshape(400, 500)
    out["inf"] = torch.tensor([1.0, math.inf, 2.0])
    out["nan half"] = torch.tensor([1.0, math.nan], dtype=torch.float16)
    return out


def number(value):
    """As JSON shows it."""
    return value if isinstance(value, int) or math.isfinite(value) else None


def expected_stats(tensor):
    wide = tensor.to(torch.float64)
    exact = tensor
    if tensor.dtype in FLOAT8 or tensor.dtype == torch.uint64:
        exact = wide
    if tensor.dtype == torch.bool:
        exact = tensor.to(torch.uint8)
    stats = {"nan": int(wide.isnan().sum()), "inf": int(wide.isinf().sum()),
             "min": None, "max": None, "mean": None, "std": None}
    if tensor.numel():
        stats["min"] = number(exact.min().item())
        stats["max"] = number(exact.max().item())
        if tensor.dtype == torch.uint64:
            stats["min"], stats["max"] = min(tensor.tolist()), max(
                tensor.tolist())
        exact = wide.numpy().astype(numpy.longdouble)
        stats["mean"] = number(float(exact.mean()))
        if tensor.numel() > 1 and wide.std().isfinite():
            stats["std"] = float(exact.std(ddof=1))
    return stats


def same(found, expected, scale):
    for name in ("min", "max", "nan", "inf"):
        if found[name] != expected[name]:
            return False
    for name in ("mean", "std"):
        a, b = found[name], expected[name]
        if a is None or b is None:
            if a is not b:
                return False
        elif abs(a - b) > 1e-12 * max(abs(b), scale * 1e-3):
            return False
    return True


class StatsTest:
    def __init__(self, arguments, work):
        self.dcpctl = arguments.dcpctl
        self.testdata = arguments.testdata
        self.only = arguments.only
        self.work = work
        self.report = harness.Report()

    def run(self):
        if self.only in (None, "made"):
            self.check_made()
        for pattern in FIXTURES:
            for folder in sorted(self.testdata.glob(f"{pattern}/ckpt")):
                name = str(folder.parent.relative_to(self.testdata))
                if self.only in (None, name):
                    self.compare_fixture(name, folder)
        return self.report.finish()

    def check_made(self):
        path = self.work / "state.pt"
        state = tensors()
        torch.save(state, path)
        self.compare_all("made", path, state)
        runs = [self.stats(path, *options) for options in RUNS]
        self.report.check("threads and memory do not show",
                          all(run == runs[0] for run in runs))
        dcp = self.work / "dcp"
        done = harness.run(self.dcpctl, "torch_to_dcp", path, dcp,
                           "--world-size", "3")
        self.report.check("torch_to_dcp", done.status == 0, done.summary())
        self.report.check("the layout does not show in the numbers",
                          self.stats(dcp) == self.stats(path))
        self.check_values(path)

    def stats(self, path, *options):
        done = harness.run(self.dcpctl, "inspect", path, "--stats", "--json",
                           *options)
        if done.status != 0:
            self.report.check(f"inspect {path.name}", False, done.summary())
            return {}
        return {entry["key"]: entry.get("stats")
                for entry in json.loads(done.out)["entries"]
                if entry["kind"] == "tensor"}

    def compare_all(self, name, path, state):
        stats = self.stats(path)
        for key, tensor in state.items():
            found = stats.get(key)
            if found is None and (tensor.dtype in FLOAT8
                                  or tensor.dtype == torch.uint64):
                self.report.skip(f"{name}: {key}", "not in this LibTorch")
                continue
            expected = expected_stats(tensor)
            scale = (tensor.to(torch.float64).abs().mean().item()
                     if tensor.numel() else 0.0)
            self.report.check(
                f"{name}: {key}",
                found is not None and same(
                    found, expected, scale if math.isfinite(scale) else 0.0),
                f"{found} for {expected}")

    def compare_fixture(self, name, folder):
        out = self.work / "fixture.pt"
        done = harness.run(self.dcpctl, "dcp_to_torch", folder, out, "--force",
                           "--flat", "--objects", "drop")
        if not self.report.check(f"{name} converts", done.status == 0,
                                 done.summary()):
            return
        state = torch.load(out, weights_only=True)
        real = {key: value for key, value in state.items()
                if not value.is_complex() and value.dtype in
                FLOATS + INTEGERS + FLOAT8 + [torch.bool]}
        self.compare_all(name, folder, real)

    def check_values(self, path):
        done = harness.run(self.dcpctl, "verify", path, "--values", "--json")
        self.report.check("verify --values ends with 1", done.status == 1,
                          done.summary())
        found = sorted((f["id"], f["key"], f["message"])
                       for f in json.loads(done.out)["findings"]
                       if f["severity"] == "error")
        self.report.check("verify --values", found == [
            ("values.inf", "inf",
             "1 of 3 elements is infinite, the first at [1]"),
            ("values.inf", "nan",
             "3 of 200000 elements are infinite, the first at [0, 5]"),
            ("values.nan", "nan",
             "2 of 200000 elements are NaN, the first at [155, 277]"),
            ("values.nan", "nan half",
             "1 of 2 elements is NaN, the first at [1]")], found)


def main():
    arguments = harness.parse_arguments(__doc__.partition("\n")[0])
    with tempfile.TemporaryDirectory(dir=harness.scratch()) as work:
        return StatsTest(arguments, pathlib.Path(work)).run()


if __name__ == "__main__":
    sys.exit(main())
