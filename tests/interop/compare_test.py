"""compare and manifests, judged by PyTorch.

Every checkpoint of testdata/torch-* is equal to what PyTorch's own converter
makes of it, and different from that file with some elements changed: dcpctl
names the first of them, how many they are and the largest difference as
PyTorch computes them. With a tolerance, what differs is what torch.isclose
does not find close, and two tensors are equal when torch.allclose says so.
Digests of a manifest are those that Python computes.
"""
import hashlib
import json
import logging
import math
import pathlib
import random
import sys
import tempfile
import warnings

import torch
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save

import harness

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)  # PyTorch logs each failure of its own

DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16,
          torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8,
          torch.bool, torch.complex64, torch.complex128,
          torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz,
          torch.float8_e5m2fnuz]
TOLERANCES = [{"rtol": rtol, "atol": atol} for rtol, atol in (
    (1e-5, 1e-8), (0.0, 1e-3), (1e-3, 0.0), (0.01, 0.01), (0.25, 0.0))]


def random_tensor(generator, dtype):
    shape = [generator.randint(1, 9) for _ in range(generator.randint(0, 3))]
    raw = torch.tensor([generator.randint(-100, 100) for _ in range(
        max(1, torch.Size(shape).numel()))], dtype=torch.float64)
    if dtype == torch.bool:
        raw = raw > 0
    elif dtype in (torch.uint8,):
        raw = raw.abs()
    value = raw.to(dtype).reshape(shape)
    if value.dim() == 2 and generator.random() < 0.5:
        value = value.t().contiguous().t()
    return value


def bits(tensor):
    """The elements' bytes, one row each."""
    flat = tensor.contiguous().reshape(-1)
    if flat.dtype == torch.bool:
        flat = flat.to(torch.uint8)
    return flat.view(torch.uint8).reshape(flat.numel(), -1)


def wide(tensor):
    """Floating-point and complex numbers in a type that holds them all."""
    return tensor.to(torch.complex128 if tensor.is_complex()
                     else torch.float64)


def has_tolerance(tensor):
    return tensor.is_floating_point() or tensor.is_complex()


def expected_difference(a, b, tolerance=None):
    """What compare says of two tensors with other bits; None if there are
    none."""
    differs = (bits(a) != bits(b)).any(dim=1)
    if tolerance and has_tolerance(a):
        differs &= ~torch.isclose(wide(a), wide(b), **tolerance).reshape(-1)
    rows = differs.nonzero().reshape(-1)
    if rows.numel() == 0:
        return None
    first = rows[0].item()
    index = []
    for size in reversed(a.shape):
        index.insert(0, first % size)
        first //= size
    if has_tolerance(a):
        distance = (wide(a) - wide(b)).abs().reshape(-1)[rows]
        distance = distance[distance.isfinite()]
        largest = distance.max().item() if distance.numel() else None
    else:
        largest = max(abs(int(x) - int(y)) for x, y in zip(
            a.reshape(-1)[rows].tolist(), b.reshape(-1)[rows].tolist()))
    return {"first_index": index, "differing": rows.numel(),
            "elements": a.numel(), "max_abs_diff": largest}


class CompareTest:
    def __init__(self, arguments, report, folder):
        self.dcpctl = arguments.dcpctl
        self.report = report
        self.folder = folder

    def run(self, *arguments):
        return harness.run(self.dcpctl, *arguments)

    def check_checkpoint(self, name, source):
        theirs = self.folder / "theirs.pt"
        try:
            dcp_to_torch_save(source, theirs)
        except (CheckpointException, Exception) as e:  # as of PyTorch 1.13
            self.report.skip(name, "PyTorch cannot convert it: "
                             f"{type(e).__name__}")
            return
        result = self.run("compare", source, theirs)
        self.report.check(f"{name} equals what PyTorch makes of it",
                          result.status == 0,
                          result.out.decode() + result.summary())
        manifest = self.folder / "manifest.json"
        result = self.run("verify", source, "--manifest", manifest, "--force")
        self.report.check(f"{name} gets a manifest", result.status == 0,
                          result.summary())
        result = self.run("verify", theirs, "--check-manifest", manifest)
        self.report.check(f"{name} as a file fits the manifest",
                          result.status == 0, result.out.decode())

    def check_random(self, seed):
        generator = random.Random(seed)
        state = {f"t{i}": random_tensor(generator, generator.choice(DTYPES))
                 for i in range(20)}
        state["step"] = seed
        other = {key: value.clone() if isinstance(value, torch.Tensor)
                 else value for key, value in state.items()}
        for key in generator.sample(sorted(state), 8):
            if key == "step":
                other[key] += 1
                continue
            flat = other[key].reshape(-1).clone()
            for _ in range(generator.randint(1, 4)):
                at = generator.randrange(flat.numel())
                change = generator.choice([1, 7, float("nan")])
                if not flat.dtype.is_floating_point:
                    change = 1
                if flat.dtype == torch.bool:
                    flat[at] = ~flat[at]
                else:
                    changed = (wide(flat) if has_tolerance(flat)
                               else flat.to(torch.float64))
                    changed[at] += change
                    flat = changed.to(flat.dtype)
            other[key] = flat.reshape(other[key].shape)
        a, b = self.folder / "a.pt", self.folder / "b.pt"
        torch.save(state, a)
        torch.save(other, b)
        expected = {}
        for key, value in state.items():
            if key == "step":
                if value != other[key]:
                    expected[key] = {"a": str(value), "b": str(other[key])}
                continue
            difference = expected_difference(value, other[key])
            if difference:
                expected[key] = difference
        dcp = self.folder / "dcp"
        self.run("torch_to_dcp", b, dcp, "--force", "--world-size", 3)
        for right in (b, dcp):
            result = self.run("compare", a, right, "--json", "-j",
                              generator.randint(1, 4))
            document = json.loads(result.out or "{}")
            found = {d.pop("key"): d for d in document.get("differ", [])}
            for one in found.values():
                one.pop("what")
                if "differing" in one:
                    one.setdefault("max_abs_diff", None)
            self.report.check(f"random {seed} differences of {right.name}",
                              found == expected,
                              f"found {found}, expected {expected}, "
                              f"{result.summary()}")
            self.report.check(f"random {seed} status of {right.name}",
                              result.status == (1 if expected else 0),
                              result.summary())
        self.check_digests(seed, state, a)

    def check_tolerance(self, seed):
        generator = torch.Generator().manual_seed(seed)
        tolerance = TOLERANCES[seed]
        specials = torch.tensor([0.0, -0.0, math.inf, -math.inf, math.nan],
                                dtype=torch.float64)
        state, other = {}, {}
        for dtype in DTYPES:
            shape = (7, 50)
            a = torch.randn(shape, dtype=torch.float64, generator=generator)
            noise = torch.randn(shape, dtype=torch.float64,
                                generator=generator)
            b = a + a * noise * tolerance["rtol"] + noise * tolerance["atol"]
            b[0, :5], a[1, :5] = specials, specials
            a[2, :25], b[2, :25] = specials.repeat_interleave(5), specials.repeat(5)
            if dtype.is_complex:
                a, b = torch.complex(a, b), torch.complex(b, a)
            key = str(dtype)
            state[key], other[key] = a.to(dtype), b.to(dtype)
            state[key + " near"] = state[key][3:]
            other[key + " near"] = state[key][3:].clone()
        for key in ("torch.float32 near", "torch.complex64 near",
                    "torch.bfloat16 near"):
            other[key] *= 1 + tolerance["rtol"] / 2
            other[key] += tolerance["atol"] / 2
        a, b = self.folder / "a.pt", self.folder / "b.pt"
        torch.save(state, a)
        torch.save(other, b)
        expected, close = {}, 0
        for key, value in state.items():
            found = expected_difference(value, other[key], tolerance)
            if found:
                expected[key] = found
            elif not torch.equal(bits(value), bits(other[key])):
                close += 1
            # Wherever PyTorch's own arithmetic is that of float64.
            if value.dtype in (torch.float64, torch.complex128):
                same = torch.equal(bits(value), bits(other[key]))
                self.report.check(
                    f"tolerance {seed} {key} as allclose",
                    (found is None) == (same or torch.allclose(
                        value, other[key], **tolerance)))
        result = self.run("compare", a, b, "--json", "--rtol",
                          tolerance["rtol"], "--atol", tolerance["atol"])
        document = json.loads(result.out or "{}")
        found = {d.pop("key"): d for d in document.get("differ", [])}
        for one in found.values():
            one.pop("what")
            one.setdefault("max_abs_diff", None)
        self.report.check(f"tolerance {seed} differences", found == expected,
                          f"found {found}, expected {expected}, "
                          f"{result.summary()}")
        self.report.check(f"tolerance {seed} close tensors",
                          document.get("totals", {}).get("close") == close
                          and close > 0, document.get("totals"))

    def check_digests(self, seed, state, path):
        manifest = self.folder / "digests.json"
        self.run("verify", path, "--manifest", manifest, "--force")
        entries = {e["key"]: e for e in json.loads(
            manifest.read_text())["entries"]}
        wrong = []
        for key, value in state.items():
            if not isinstance(value, torch.Tensor):
                continue
            head = f"{str(value.dtype)[6:]} {list(value.shape)}\n".encode()
            data = bits(value).contiguous().numpy().tobytes()
            if entries[key]["sha256"] != hashlib.sha256(
                    head + data).hexdigest():
                wrong.append(key)
        self.report.check(f"random {seed} digests", not wrong, wrong)


def main():
    arguments = harness.parse_arguments(
        __doc__.splitlines()[0],
        count=dict(type=int, default=30, help="random states to compare"))
    report = harness.Report()
    with tempfile.TemporaryDirectory(dir=harness.scratch()) as name:
        test = CompareTest(arguments, report, pathlib.Path(name))
        for source in sorted(arguments.testdata.glob("torch-*/*/ckpt")):
            case = f"{source.parts[-3]}/{source.parts[-2]}"
            if arguments.only and arguments.only not in case.split("/") + [case]:
                continue
            if not (source / ".metadata").exists() or "hf_sharded" in case:
                continue
            test.check_checkpoint(case, source)
        if not arguments.only:
            for seed in range(arguments.count):
                test.check_random(seed)
            for seed in range(len(TOLERANCES)):
                test.check_tolerance(seed)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
