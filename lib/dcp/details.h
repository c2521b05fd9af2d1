// What a report may want to show of a checkpoint's metadata. None of it changes how the checkpoint is read.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "dcpctl/pickle.h"

namespace dcpctl::dcp {

// Names and texts, in this order where they are there: written_by, version, save_id, checkpoint_id,
// other_attributes. `root` is an instance of Metadata.
std::vector<std::pair<std::string, std::string>> ReadDetails(pickle::Value root);

}  // namespace dcpctl::dcp
