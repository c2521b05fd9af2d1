#include "pickle/python_types.h"

#include <algorithm>
#include <array>

#include "pickle/utf8.h"

namespace dcpctl::pickle {
namespace {

constexpr std::string_view kOldBuiltins = "__builtin__";
constexpr std::string_view kNewBuiltins = "builtins";
constexpr std::string_view kOldCopyReg = "copy_reg";
constexpr std::string_view kNewCopyReg = "copyreg";

struct Renamed {
  std::string_view old_name;
  std::string_view new_name;
};
// Members of builtins; CPython's _compat_pickle has the same. The first with a new name is written.
constexpr std::array kRenamed = {Renamed{"long", "int"}, Renamed{"unicode", "str"}, Renamed{"xrange", "range"},
                                 Renamed{"unichr", "chr"}};

constexpr std::array kKindNames = {"None",  "bool", "int", "int",       "float", "str",    "bytes",  "bytearray",
                                   "tuple", "list", "set", "frozenset", "dict",  "global", "object", "persistent id"};

// Codes of numpy.dtype: kind, and bytes as it says them.
struct NumpyCode {
  std::string_view code;
  std::string_view name;
};
constexpr std::array kNumpyCodes = {
    NumpyCode{"f2", "float16"},   NumpyCode{"f4", "float32"},     NumpyCode{"f8", "float64"}, NumpyCode{"i1", "int8"},
    NumpyCode{"i2", "int16"},     NumpyCode{"i4", "int32"},       NumpyCode{"i8", "int64"},   NumpyCode{"u1", "uint8"},
    NumpyCode{"u2", "uint16"},    NumpyCode{"u4", "uint32"},      NumpyCode{"u8", "uint64"},  NumpyCode{"b1", "bool"},
    NumpyCode{"c8", "complex64"}, NumpyCode{"c16", "complex128"}, NumpyCode{"O8", "object"},
};

bool IsLatin1Name(std::string_view encoding) {
  constexpr std::array kNames = {"latin1", "latin-1", "latin_1", "iso-8859-1", "iso8859-1"};
  return std::ranges::find(kNames, encoding) != kNames.end();
}

std::optional<std::string> EncodeLatin1(std::string_view utf8, size_t max_bytes) {
  std::string bytes;
  bytes.reserve(std::min(utf8.size(), max_bytes));
  while (!utf8.empty() && bytes.size() < max_bytes) {
    const uint32_t code_point = TakeCodePoint(utf8);
    if (code_point > 0xff) return std::nullopt;
    bytes += static_cast<char>(code_point);
  }
  return bytes;
}

}  // namespace

GlobalName NewSpelling(GlobalName global) {
  if (global.module == kOldCopyReg) return {kNewCopyReg, global.name};
  if (global.module != kOldBuiltins) return global;
  for (const Renamed& row : kRenamed) {
    if (row.old_name == global.name) return {kNewBuiltins, row.new_name};
  }
  return {kNewBuiltins, global.name};
}

GlobalName OldSpelling(GlobalName global) {
  if (global.module == kNewCopyReg) return {kOldCopyReg, global.name};
  if (global.module != kNewBuiltins) return global;
  for (const Renamed& row : kRenamed) {
    if (row.new_name == global.name) return {kOldBuiltins, row.old_name};
    if (row.old_name == global.name) return global;  // names nothing, but in Python 2 it would
  }
  return {kOldBuiltins, global.name};
}

std::string_view KindName(Kind kind) { return kKindNames[static_cast<size_t>(kind)]; }

Instance InstanceOf(Value object) {
  const Value callable = object.callable();
  const Value args = object.args();
  const size_t count = args.Is(Kind::kTuple) ? args.size() : 0;
  // (class, base, base's value): what object.__reduce_ex__ gives below protocol 2.
  if (count == 3 && callable.IsGlobal(kNewCopyReg, "_reconstructor")) {
    return {args[0], args, args[1].IsGlobal(kNewBuiltins, "object") ? size_t{3} : size_t{2}, std::nullopt};
  }
  if (count == 3 && callable.IsGlobal(kNewCopyReg, "__newobj_ex__")) return {args[0], args[1], 0, args[2]};
  if (count >= 1 && callable.IsGlobal(kNewCopyReg, "__newobj__")) return {args[0], args, 1, std::nullopt};
  // CPython's spelling of NEWOBJ_EX below protocol 4: partial(class.__new__, class, *args, **kwargs)().
  if (count == 0 && callable.IsCallOf("functools", "partial")) {
    const std::optional<Value> state = callable.state();
    if (state && state->Is(Kind::kTuple) && state->size() == 4 && (*state)[1].Is(Kind::kTuple) &&
        (*state)[1].size() > 0) {
      return {(*state)[1][0], (*state)[1], 1, (*state)[2].Is(Kind::kDict) ? std::optional((*state)[2]) : std::nullopt};
    }
  }
  return {callable, args, 0, object.kwargs()};
}

std::optional<std::string> AsBytes(Value value, size_t max_bytes) {
  if (value.Is(Kind::kBytes)) return std::string(value.AsText().substr(0, max_bytes));
  if (!value.Is(Kind::kObject) || value.operation_count() != 0) return std::nullopt;
  const Value args = value.args();
  if (!args.Is(Kind::kTuple)) return std::nullopt;
  if (value.IsCallOf(kNewBuiltins, "bytes") && args.size() == 0) return std::string();
  if (!value.IsCallOf("_codecs", "encode") || args.size() != 2) return std::nullopt;
  if (!args[0].Is(Kind::kString) || !args[1].Is(Kind::kString)) return std::nullopt;
  if (!IsLatin1Name(args[1].AsText())) return std::nullopt;
  return EncodeLatin1(args[0].AsText(), max_bytes);
}

std::string NumpyTypeName(Value dtype) {
  if (!dtype.IsCallOf("numpy", "dtype")) return {};
  const Value args = dtype.args();
  if (!args.Is(Kind::kTuple) || args.size() == 0 || !args[0].Is(Kind::kString)) return {};
  const std::string_view code = args[0].AsText();
  for (const NumpyCode& row : kNumpyCodes) {
    if (row.code == code) return std::string(row.name);
  }
  return std::string(code);
}

}  // namespace dcpctl::pickle
