// Shell completion scripts, made from the options of all commands.
#pragma once

#include <string>
#include <string_view>

#include "dcpctl/error.h"

namespace dcpctl::cmd {

// For "bash", "zsh" or "fish". Errors: kUsage for any other shell.
Result<std::string> CompletionScript(std::string_view shell);

}  // namespace dcpctl::cmd
