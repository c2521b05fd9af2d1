// The exit status of a command that ended with an error.
#pragma once

#include "cmd/command.h"
#include "dcpctl/error.h"

namespace dcpctl::cmd {

inline ExitStatus StatusOf(const Error& error) {
  if (error.kind() == ErrorKind::kUsage) return kWrong;
  return error.kind() == ErrorKind::kCancelled ? kInterrupted : kFailed;
}

}  // namespace dcpctl::cmd
