#include "pickle/policy.h"

#include <algorithm>
#include <array>

#include "base/quote.h"

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
