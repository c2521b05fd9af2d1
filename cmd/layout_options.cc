#include "cmd/layout_options.h"

#include <utility>

#include "cmd/options.h"

namespace dcpctl::cmd {
namespace {

constexpr unsigned kMaxRanks = 1'000'000;

const char* const kWorldSizeHelp =
    "cut every tensor into rows for N ranks, as FSDP does\n"
    "By torch.chunk's rule: parts of the same size, rounded up, then a smaller one, then none.";
const char* const kMeshHelp =
    "ranks in a grid: dp=8,tp=4\n"
    "Ranks are numbered as PyTorch does: the last name counts fastest. --placement says how tensors are cut; what no "
    "rule matches is cut into rows along the first name that has no replicate in it, and the default is printed.";
const char* const kPlacementHelp =
    "how tensors whose key GLOB matches are cut\n"
    "One of shard(DIM), replicate and strided_shard(DIM) for each name of the mesh, replicate where none is given: "
    "'model.*.weight=dp:shard(0),tp:shard(1)'. The first rule that matches a key counts. May be given again.";
const char* const kLayoutHelp =
    "take mesh and rules from a JSON file\n"
    "Its form is described in dcpctl-reshard(1).";
const char* const kLikeHelp =
    "cut everything as the checkpoint DIR is\n"
    "It must have the same keys and shapes.";

}  // namespace

void AddLayoutOptions(CLI::App& app, LayoutArguments& arguments) {
  arguments.world_size_option =
      AddNumber(app, "--world-size", arguments.world_size, kMaxRanks, kWorldSizeHelp)->group("Layout");
  AddText(app, "--mesh", arguments.mesh, "NAME=SIZE,...", kMeshHelp)->group("Layout");
  AddList(app, "--placement", arguments.placements, "GLOB=RULE", kPlacementHelp)->group("Layout");
  AddText(app, "--layout", arguments.file, "FILE", kLayoutHelp)->group("Layout");
  AddText(app, "--like", arguments.like, "DIR", kLikeHelp)->group("Layout");
}

bool HasLayout(const LayoutArguments& arguments) {
  return arguments.world_size_option->count() > 0 || !arguments.mesh.empty() || !arguments.file.empty() ||
         !arguments.like.empty();
}

Result<void> CheckLayout(const LayoutArguments& arguments) {
  std::vector<std::string> given;
  if (arguments.world_size_option->count() > 0) given.emplace_back("--world-size");
  if (!arguments.mesh.empty()) given.emplace_back("--mesh");
  if (!arguments.file.empty()) given.emplace_back("--layout");
  if (!arguments.like.empty()) given.emplace_back("--like");
  if (given.size() > 1)
    return WrongUsage(given[0] + " and " + given[1] + " both say how to cut", "leave out one of them");
  if (!arguments.placements.empty() && arguments.mesh.empty())
    return WrongUsage("--placement goes by the names of a mesh, and there is none", "say --mesh NAME=SIZE,...");
  if (!given.empty() && given[0] == "--world-size" && arguments.world_size == 0)
    return WrongUsage("--world-size is 0, expected at least one rank", "say how many ranks will load the checkpoint");
  return {};
}

LayoutOptions LayoutOf(const LayoutArguments& arguments) {
  return {.world_size = arguments.world_size,
          .mesh = arguments.mesh,
          .placements = arguments.placements,
          .file = arguments.file,
          .like = arguments.like};
}

}  // namespace dcpctl::cmd
