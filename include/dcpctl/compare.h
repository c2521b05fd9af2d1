// Whether two checkpoints hold the same, whatever their formats, layouts and the versions that wrote them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "dcpctl/box.h"
#include "dcpctl/convert.h"
#include "dcpctl/error.h"

namespace dcpctl {

// How far floating-point and complex numbers may be apart: |a - b| <= absolute + relative * |b|, as in torch.allclose.
// Infinities and NaN are within no tolerance of what has other bits.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

struct CompareOptions {
  // `strip_prefix`, `rename` and `add_prefix` change the names of the first checkpoint, so that they become those of
  // the second; `select` and `exclude` are for both, by those names.
  Selection selection = {};
  std::vector<std::string> allow_globals = {};        // "module.name", refused by default as attacks
  std::optional<Tolerance> tolerance = std::nullopt;  // nothing: all bits count
  RunOptions run = {};  // of these `jobs`, `memory_bytes`, `stop`, `limits` and `observer`
};

enum class DifferenceKind : uint8_t {
  kKind,  // a tensor, and an object
  kDType,
  kShape,
  kValues,  // elements with other bits, and beyond the tolerance
  kObject,  // objects that are not the same data
};
[[nodiscard]] std::string_view Name(DifferenceKind kind);  // "kind", "dtype", "shape", "values", "object"

// An entry that both have.
struct Difference {
  std::string key;
  DifferenceKind what = DifferenceKind::kValues;
  // What each has: "tensor", "float32", "[4, 2]", or the beginning of an object's value; of kValues nothing.
  std::string a = {};
  std::string b = {};
  // kValues: in row-major order over the whole tensor.
  Dims first_index = {};
  uint64_t differing = 0;
  uint64_t elements = 0;
  // The largest |a - b| where that is a finite number; exact for integers. Nothing when there is none, as of NaN.
  std::optional<std::variant<uint64_t, double>> max_abs_diff = std::nullopt;
};

struct CompareTotals {
  uint64_t tensors = 0;  // that both have
  uint64_t objects = 0;
  uint64_t bytes = 0;  // of the tensors that were compared
  uint64_t close = 0;  // of the tensors: not the same bit by bit, but within the tolerance
};

// Lists are sorted by key. None depends on threads, memory or layouts.
struct CompareReport {
  std::filesystem::path a;
  std::filesystem::path b;
  bool equal = false;
  std::vector<std::string> only_in_a;  // under their new names
  std::vector<std::string> only_in_b;
  std::vector<Difference> differ;
  CompareTotals totals;
  std::optional<Tolerance> tolerance = std::nullopt;  // that was asked for
};

// Reads all of both, a tile at a time. Errors: kUsage (a tolerance that is negative or not finite), kNotFound (also for
// a pattern that matches no key of either), kIo, kCorrupt (damage and holes: nobody can say what would be there),
// kUnsupported, kLimit, kMismatch (a file changed, or two names become one), kCancelled.
[[nodiscard]] Result<CompareReport> Compare(const std::filesystem::path& a, const std::filesystem::path& b,
                                            const CompareOptions& options = {});

}  // namespace dcpctl
