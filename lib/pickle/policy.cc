#include "pickle/policy.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/quote.h"
#include "pickle/arena.h"
#include "pickle/python_types.h"

namespace dcpctl::pickle {
namespace {

// Whole modules: nothing in them belongs in a checkpoint.
constexpr std::array<std::string_view, 53> kModules = {
    "os",          "posix",    "nt",         "posixpath", "ntpath",    "subprocess", "_posixsubprocess",
    "sys",         "shutil",   "pty",        "socket",    "_socket",   "ssl",        "ctypes",
    "_ctypes",     "cffi",     "importlib",  "imp",       "runpy",     "pkgutil",    "zipimport",
    "code",        "codeop",   "marshal",    "pickle",    "_pickle",   "cPickle",    "dill",
    "cloudpickle", "shelve",   "webbrowser", "pip",       "ensurepip", "venv",       "pdb",
    "bdb",         "timeit",   "trace",      "profile",   "cProfile",  "asyncio",    "multiprocessing",
    "signal",      "http",     "urllib",     "requests",  "aiohttp",   "ftplib",     "smtplib",
    "telnetlib",   "commands", "tempfile",   "popen2"};

struct Name {
  std::string_view module;
  std::string_view name;
};

// Single names of modules that checkpoints do use.
constexpr std::array<Name, 32> kNames = {{
    {"builtins", "eval"},
    {"builtins", "exec"},
    {"builtins", "execfile"},
    {"builtins", "compile"},
    {"builtins", "open"},
    {"builtins", "file"},
    {"builtins", "__import__"},
    {"builtins", "input"},
    {"builtins", "raw_input"},
    {"builtins", "breakpoint"},
    {"builtins", "setattr"},
    {"builtins", "delattr"},
    {"builtins", "globals"},
    {"builtins", "locals"},
    {"builtins", "vars"},
    {"builtins", "apply"},
    {"io", "open"},
    {"_io", "open"},
    {"io", "FileIO"},
    {"_io", "FileIO"},
    {"types", "FunctionType"},
    {"types", "CodeType"},
    {"types", "LambdaType"},
    {"operator", "attrgetter"},
    {"operator", "methodcaller"},
    {"_operator", "attrgetter"},
    {"_operator", "methodcaller"},
    {"functools", "reduce"},
    {"_functools", "reduce"},
    {"torch", "load"},
    {"torch.serialization", "load"},
    {"numpy", "load"},
}};

// Dangerous below these: `torch.hub.load`, `numpy.testing._private.utils.runstring`, ...
constexpr std::array<std::string_view, 6> kPackages = {
    "torch.hub", "torch.utils.cpp_extension", "torch.package", "numpy.testing", "numpy.f2py", "distutils"};

struct Members {
  std::string_view module;
  std::string_view names;  // a space between two
};

// All that the weights-only unpickler of PyTorch 2.13 looks up: it has a list and imports nothing.
constexpr std::string_view kSparseTypes =
    "BFloat16Tensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor ShortTensor";
constexpr std::array<Members, 12> kStandard = {{
    {"_codecs", "encode"},
    {"builtins", "bytearray complex set"},
    {"collections", "Counter OrderedDict"},
    {"torch",
     "Size Tensor device "
     "bfloat16 bits16 bits1x8 bits2x4 bits4x2 bits8 bool complex128 complex32 complex64 float16 float32 "
     "float4_e2m1fn_x2 float64 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu "
     "int1 int16 int2 int3 int32 int4 int5 int6 int64 int7 int8 qint32 qint8 quint2x4 quint4x2 quint8 "
     "uint1 uint16 uint2 uint3 uint32 uint4 uint5 uint6 uint64 uint7 uint8 "
     "per_channel_affine per_channel_affine_float_qparams per_channel_symmetric per_tensor_affine "
     "per_tensor_symmetric "
     "BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage ComplexFloatStorage DoubleStorage "
     "FloatStorage HalfStorage IntStorage LongStorage QInt32Storage QInt8Storage QUInt2x4Storage QUInt4x2Storage "
     "QUInt8Storage ShortStorage "
     "BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor "
     "ShortTensor"},
    {"torch._tensor", "_rebuild_from_type_v2"},
    {"torch._utils",
     "_rebuild_device_tensor_from_cpu_tensor _rebuild_device_tensor_from_numpy _rebuild_meta_tensor_no_storage "
     "_rebuild_nested_tensor _rebuild_parameter _rebuild_parameter_with_state _rebuild_qtensor "
     "_rebuild_sparse_tensor _rebuild_tensor _rebuild_tensor_v2 _rebuild_tensor_v3 _rebuild_wrapper_subclass"},
    {"torch.cuda",
     "BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage ComplexFloatStorage DoubleStorage "
     "FloatStorage HalfStorage IntStorage LongStorage ShortStorage "
     "BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor "
     "ShortTensor"},
    {"torch.cuda.sparse", kSparseTypes},
    {"torch.nn.parameter", "Parameter"},
    {"torch.serialization", "_get_layout"},
    {"torch.sparse", kSparseTypes},
    {"torch.storage", "TypedStorage UntypedStorage"},
}};

bool HasWord(std::string_view words, std::string_view word) {
  if (word.empty() || word.find(' ') != std::string_view::npos) return false;
  for (size_t at = words.find(word); at != std::string_view::npos; at = words.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

bool IsOrIsBelow(std::string_view module, std::string_view package) {
  return module.starts_with(package) && (module.size() == package.size() || module[package.size()] == '.');
}

std::string_view FirstPart(std::string_view name) { return name.substr(0, name.find('.')); }

}  // namespace

bool IsAttack(std::string_view module, std::string_view name) {
  if (module == "__builtin__") module = "builtins";
  if (std::find(kModules.begin(), kModules.end(), FirstPart(module)) != kModules.end()) return true;
  if (std::any_of(kPackages.begin(), kPackages.end(),
                  [&](std::string_view package) { return IsOrIsBelow(module, package); }))
    return true;
  // A dotted name reaches into a class: `Path.unlink` of pathlib, `eval.__call__`.
  if (module.starts_with("pathlib") && name.find('.') != std::string_view::npos) return true;
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](const Name& bad) { return bad.module == module && bad.name == FirstPart(name); });
}

bool IsStandard(std::string_view module, std::string_view name) {
  const GlobalName spelled = NewSpelling({module, name});
  const auto found =
      std::find_if(kStandard.begin(), kStandard.end(), [&](const Members& m) { return m.module == spelled.module; });
  return found != kStandard.end() && HasWord(found->names, spelled.name);
}

std::vector<Foreign> ForeignNames(const Document& document) {
  std::map<std::string, bool> names;
  for (const Value global : document.Globals()) {
    if (IsStandard(global.module(), global.name())) continue;
    const GlobalName spelled = NewSpelling({global.module(), global.name()});
    bool& is_attack = names[std::string(spelled.module) + "." + std::string(spelled.name)];
    is_attack = is_attack || IsAttack(global.module(), global.name());
  }
  // Newer protocols have an opcode for these; protocol 2 calls the class.
  const Document::Arena& arena = document.arena();
  for (uint64_t ref = 0; ref < arena.words.size(); ref += arena.WordsOf(static_cast<Ref>(ref))) {
    if (arena.KindOf(static_cast<Ref>(ref)) == Kind::kFrozenSet) names.try_emplace("builtins.frozenset", false);
  }
  std::vector<Foreign> foreign;
  for (const auto& [name, is_attack] : names) foreign.push_back({.name = name, .is_attack = is_attack});
  return foreign;
}

Result<void> CheckGlobals(const Document& document, const std::string& file, std::span<const std::string> allowed) {
  // All that were read, not only those that the root reaches: a pickle may call something and drop the result.
  for (const Value value : document.Globals()) {
    if (!IsAttack(value.module(), value.name())) continue;
    const std::string name = std::string(value.module()) + "." + std::string(value.name());
    if (std::find(allowed.begin(), allowed.end(), name) != allowed.end()) continue;
    return Fail(
        Error(
            ErrorKind::kUnsupported, Place{file, value.offset()},
            "the pickle names " + Quote(name) + ", expected nothing that runs code, starts processes or touches files")
            .Advise("nothing was run; a conversion with --allow-global " + Escape(name) + " carries the name over"));
  }
  return {};
}

}  // namespace dcpctl::pickle
