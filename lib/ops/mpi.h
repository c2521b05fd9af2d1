// Becoming one of the processes that mpirun or the like has started.
#pragma once

#include <memory>

#include "dcpctl/convert.h"
#include "dcpctl/error.h"
#include "ranks/crew.h"

namespace dcpctl::ops {

// For Crew::Leave: the status of processes that do not stop by themselves.
inline constexpr int kEndedByForce = 3;

// Loads the plug-in for the library that the launcher speaks. kUnsupported without it; kMismatch when it finds others
// than the launcher started.
Result<std::unique_ptr<ranks::Crew>> JoinMpi(const RunOptions& options);

// Whether this process tells of what goes wrong before they have all met: one on each node does.
bool SpeaksBeforeMpi();

}  // namespace dcpctl::ops
