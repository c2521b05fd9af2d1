// Which globals a pickle has no honest reason to name: starting processes, evaluating code, deleting files,
// importing modules and the like. Nothing from a pickle is ever run here; this keeps such names from being
// carried into an output that another program would run.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dcpctl/pickle.h"

namespace dcpctl::pickle {

[[nodiscard]] bool IsAttack(std::string_view module, std::string_view name);

// kUnsupported with the name and its place when a global that the document mentions is an attack and not in
// `allowed` ("module.name").
Result<void> CheckGlobals(const Document& document, const std::string& file, std::span<const std::string> allowed = {});

}  // namespace dcpctl::pickle
