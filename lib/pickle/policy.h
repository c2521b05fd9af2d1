// What the names in a pickle mean to whoever loads it. Some a pickle has no honest reason to name: starting processes,
// evaluating code, deleting files, importing modules and the like. Nothing from a pickle is ever run here; refusing
// these keeps them from being carried into an output that another program would run. Of the rest, PyTorch itself
// takes a few without being told to trust the file.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dcpctl/pickle.h"

namespace dcpctl::pickle {

[[nodiscard]] bool IsAttack(std::string_view module, std::string_view name);

// Whether torch.load(weights_only=True) knows this global without more, as PyTorch 2.13 does; older ones know fewer.
[[nodiscard]] bool IsStandard(std::string_view module, std::string_view name);

// A global that is not standard.
struct Foreign {
  std::string name;  // "module.name", as Python 3 spells it
  bool is_attack = false;
};

// What torch.load would ask for that is not standard, once the document is written with protocol 2; sorted, each once.
[[nodiscard]] std::vector<Foreign> ForeignNames(const Document& document);

// kUnsupported with the name and its place when a global that the document mentions is an attack and not in
// `allowed` ("module.name").
Result<void> CheckGlobals(const Document& document, const std::string& file, std::span<const std::string> allowed = {});

}  // namespace dcpctl::pickle
