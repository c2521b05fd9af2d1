// Which rank of a device mesh holds which box of each tensor, by the rules of PyTorch's DTensor and FSDP. Pure
// arithmetic on shapes: reads nothing and knows no file format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dcpctl/box.h"
#include "dcpctl/catalog.h"
#include "dcpctl/error.h"
#include "dcpctl/limits.h"

namespace dcpctl {

struct MeshDim {
  std::string name;
  uint64_t size = 1;
};

// Ranks in a grid with named dimensions, numbered as PyTorch's init_device_mesh does: row-major, the last dimension
// fastest. Without dimensions: one rank.
class DeviceMesh {
 public:
  static constexpr size_t kMaxDims = 32;

  DeviceMesh() = default;
  // kUsage, naming the dimension and what is allowed, unless there are 1 to kMaxDims dimensions with different names
  // of letters, digits, `_`, `-` and `.`, and 1 to Limits::ranks ranks.
  [[nodiscard]] static Result<DeviceMesh> Make(std::vector<MeshDim> dims, const Limits& limits = {});

  [[nodiscard]] const std::vector<MeshDim>& dims() const { return dims_; }
  [[nodiscard]] uint64_t world_size() const { return world_size_; }
  // Ranks from one coordinate of a dimension to the next.
  [[nodiscard]] uint64_t RankStep(size_t dim) const { return steps_[dim]; }
  [[nodiscard]] uint64_t Coordinate(uint64_t rank, size_t dim) const { return rank / steps_[dim] % dims_[dim].size; }

 private:
  std::vector<MeshDim> dims_;
  std::vector<uint64_t> steps_;
  uint64_t world_size_ = 1;
};

// "dp=8,tp=4". Errors: those of DeviceMesh::Make.
[[nodiscard]] Result<DeviceMesh> ParseMesh(std::string_view text, const Limits& limits = {});
[[nodiscard]] std::string ToString(const DeviceMesh& mesh);

// What a mesh dimension does to a tensor.
struct Placement {
  enum class Kind : uint8_t {
    kReplicate,     // all its ranks hold the same
    kShard,         // cut like torch.chunk: parts of ceil(size / ranks), then a smaller one, then empty ones
    kStridedShard,  // DTensor's _StridedShard: cut into split_factor parts first, and each of those over the ranks
  };
  // FSDP over tensor parallelism: as many parts as later mesh dimensions cut the same tensor dimension into.
  static constexpr uint64_t kPartsOfLaterDims = 0;

  Kind kind = Kind::kReplicate;
  int64_t dim = 0;  // of the tensor; -1 is the last one
  uint64_t split_factor = kPartsOfLaterDims;

  friend bool operator==(const Placement&, const Placement&) = default;
};

// One for each dimension of a mesh, applied from the first one to the last, each to what those before it left. A
// tensor without dimensions cannot be cut: it is replicated, whatever they say.
using Placements = std::vector<Placement>;

// "dp:shard(0),tp:shard(-1)": mesh dimensions that are not named replicate. Also strided_shard(DIM),
// strided_shard(DIM,FACTOR) and replicate; `replicate` alone is for all dimensions, and the name may be left out for a
// mesh that has one. kUsage, with near names, for anything else.
[[nodiscard]] Result<Placements> ParsePlacements(std::string_view text, const DeviceMesh& mesh);
[[nodiscard]] std::string ToString(const Placement& placement);
// Every dimension by name.
[[nodiscard]] std::string ToString(const Placements& placements, const DeviceMesh& mesh);

// What one rank holds of a tensor.
struct LocalShard {
  // As DTensor tells it to a checkpoint (compute_local_shape_and_global_offset): the local shape, and the place of the
  // first element. Where nothing is left of a dimension, the offset is the tensor's size.
  Dims offsets;
  Dims sizes;
  // Where the elements really are, sorted by their place in the local tensor. None when it is empty. One, of these
  // offsets and sizes, except where a strided shard leaves several runs of a dimension: PyTorch tells a checkpoint one
  // box even then, which is not where they are.
  std::vector<Box> boxes;
};

// `rank` is below world_size(). Errors: kUsage for a dimension that the shape lacks, kLimit for more than
// Limits::boxes.
[[nodiscard]] Result<LocalShard> ShardOf(DimsView shape, const DeviceMesh& mesh, const Placements& placements,
                                         uint64_t rank, const Limits& limits = {});

// Placements of the tensors whose key a pattern matches.
struct PlacementRule {
  std::string pattern;
  Placements placements;
  std::string origin;  // for messages: `--placement "x.*=dp:shard(0)"`
};

// How a whole checkpoint is laid out: the first rule that matches a key, else the fallback.
struct MeshLayout {
  DeviceMesh mesh;
  std::vector<PlacementRule> rules;
  PlacementRule fallback;  // its pattern is not used
};

// FSDP over `world_size` ranks: one mesh dimension "fsdp", every tensor cut along its first dimension. FSDP2 and
// FSDP1 agree on every box that is not empty: both take torch.chunk. FSDP1 only gives no box to ranks after the last
// chunk (_create_chunk_sharded_tensor), where DTensor gives an empty one; neither has anything to store.
[[nodiscard]] Result<MeshLayout> MakeFsdpLayout(uint64_t world_size, const Limits& limits = {});
// "GLOB=dp:shard(0),tp:shard(1)", parted at the last `=`.
[[nodiscard]] Result<PlacementRule> ParsePlacementRule(std::string_view text, const DeviceMesh& mesh);
// Where nothing else is said: shard(0) on the first mesh dimension whose name has no "replicate" in it (the first one
// if all have), replicate on the others.
[[nodiscard]] PlacementRule DefaultRule(const DeviceMesh& mesh);
// The command line's `--mesh` and its `--placement`s, in their order, with the default rule.
[[nodiscard]] Result<MeshLayout> ParseMeshLayout(std::string_view mesh, std::span<const std::string> rules,
                                                 const Limits& limits = {});

// What has to be laid out.
struct LayoutEntry {
  std::string key;     // that rules are matched with, and found in the checkpoint whose layout is taken
  uint32_t entry = 0;  // into Catalog::entries: comes back in RankPiece
  bool is_tensor = true;
  DimsView shape = {};  // borrowed from the catalog
  uint64_t bytes = 0;   // of one element of a tensor; of the record of an object
};

// The selected entries under their own keys; `selected` is by Catalog::entries. Views of `catalog`.
[[nodiscard]] std::vector<LayoutEntry> ListLayoutEntries(const Catalog& catalog, const std::vector<bool>& selected);

// An object, or a box of a tensor, that one rank writes.
struct RankPiece {
  uint32_t entry = 0;  // LayoutEntry::entry
  uint32_t rank = 0;
  uint64_t dims = 0;  // in the pool: offsets, then sizes
  uint32_t dim_count = 0;
};

struct RankTotals {
  uint64_t bytes = 0;
  uint64_t pieces = 0;
};

// Bytes of the fullest rank over the mean of all; 1 when there are none.
[[nodiscard]] double Imbalance(std::span<const RankTotals> ranks);

struct RankLayout {
  // In the order of the entries; of one tensor in the order of its dimensions' parts. Every element is in exactly one.
  std::vector<RankPiece> pieces;
  Dims dims;                      // the pool
  std::vector<RankTotals> ranks;  // one for each rank of the world
  // Tensors that each rule decided, and last the fallback. A rule with none is hidden by those before it.
  std::vector<uint64_t> rule_tensors;

  [[nodiscard]] BoxView BoxOf(const RankPiece& piece) const {
    return {DimsView(dims).subspan(piece.dims, piece.dim_count),
            DimsView(dims).subspan(piece.dims + piece.dim_count, piece.dim_count)};
  }
  [[nodiscard]] double Imbalance() const { return dcpctl::Imbalance(ranks); }
};

// Whether a rule's pattern matches a key.
using KeyMatcher = std::function<bool(std::string_view pattern, std::string_view key)>;

// Who writes what. What several ranks hold (replicas, tensors without dimensions) and what none does (objects, tensors
// without elements: one empty box) is written once, by the rank with the fewest bytes so far among those that may, the
// lowest of equal ones. Time goes with the boxes there are, not with ranks times tensors. Errors: kUsage for a
// dimension that a tensor lacks, naming key, shape and rule; kNotFound for a rule that matches no tensor, with near
// names; kLimit for more than Limits::boxes, or bytes over 64 bits.
[[nodiscard]] Result<RankLayout> AssignRanks(std::span<const LayoutEntry> entries, const MeshLayout& layout,
                                             const KeyMatcher& matches, const Limits& limits = {});

// What only the other checkpoint has.
enum class ExtraKeys : uint8_t { kRefuse, kIgnore };

// Everything cut as it is in `like` and written by the rank that wrote it there: that which its file is named after,
// files without such a name counting as ranks after the last. Errors: kMismatch, listing what only either side has and
// whose shape or kind differs; kCorrupt when the boxes of `like` do not tile a tensor or lie in no file; kLimit.
[[nodiscard]] Result<RankLayout> AssignLike(std::span<const LayoutEntry> entries, const Catalog& like,
                                            ExtraKeys extra_keys = ExtraKeys::kRefuse, const Limits& limits = {});

}  // namespace dcpctl
