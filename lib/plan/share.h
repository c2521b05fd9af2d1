// A plan for several processes: each makes some of the outputs, whole. Pure, and the same on all of them. Which process
// makes an output does not show in its bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "dcpctl/plan.h"

namespace dcpctl {

// Who makes each output, by output. Neighbours go to the same process or the next, as they mostly read the same
// sources, and the largest share is as small as that allows. Outputs under one name stay together; files that are
// literals alone go to process 0.
[[nodiscard]] std::vector<unsigned> ShareOutputs(const Plan& plan, unsigned processes);

// What is left of a plan for one process: its outputs, and what they are made of. A source that several processes read
// keeps its checksum for one of them, which reads most of it and sees to it that it is right. Copies are of process 0.
[[nodiscard]] Plan ShareOf(const Plan& plan, const std::vector<unsigned>& owners, unsigned process);

}  // namespace dcpctl
