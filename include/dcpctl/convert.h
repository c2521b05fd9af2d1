// Converting a checkpoint from one format to another. One call does everything from opening the source to
// the atomic commit of the result; a failed or cancelled call leaves what was there before.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "dcpctl/dtype.h"
#include "dcpctl/error.h"
#include "dcpctl/finding.h"
#include "dcpctl/limits.h"
#include "dcpctl/mesh.h"
#include "dcpctl/observer.h"
#include "dcpctl/plan.h"

namespace dcpctl {

// Dotted components of keys that are called something else. `from` is literal text and stands for itself wherever
// it is, as often as it is; with '^' in front only at the front of a key. An empty `to` takes it out.
struct Renaming {
  std::string from;
  std::string to;
};

// Which entries, and under which names. Patterns are matched by whole dotted components from the left:
// `model` and `model.layers.*` mean those keys and all below them, never `model_ema`.
struct Selection {
  std::vector<std::string> select = {};   // none: everything
  std::vector<std::string> exclude = {};  // wins over select
  std::string strip_prefix = {};          // taken off once where it is there
  std::vector<Renaming> rename = {};      // after strip_prefix, each on what the one before it made
  std::string add_prefix = {};            // put in front, last of all
};

enum class Reflink : uint8_t { kAuto, kAlways, kNever };
enum class ObjectPolicy : uint8_t { kKeep, kDrop };
enum class OutputFormat : uint8_t { kDcp, kTorch };

// What becomes of the data files when a DCP checkpoint becomes another.
enum class DataPolicy : uint8_t {
  kRewrite,  // laid out anew: one file a rank, payloads on block boundaries
  kCopy,     // taken over whole
  kLink,     // second names for the same files
  kNone,     // only the metadata is written; the target is that file
};

struct RunOptions {
  unsigned jobs = 0;                            // 0: one per core
  uint64_t memory_bytes = uint64_t{256} << 20;  // budget for buffers
  std::string device = "cpu";                   // or "cuda", "cuda:N"
  Reflink reflink = Reflink::kAuto;
  bool mpi = false;                    // one of several processes that share the work
  bool exchange = false;               // with mpi: files that only some processes see are read by those
  std::filesystem::path plugins = {};  // their folder; empty: the environment's or the program's own
  bool force = false;                  // replace an existing output
  bool dry_run = false;                // everything up to the first write
  std::stop_token stop = {};           // asks for kCancelled
  Limits limits = {};
  Observer* observer = nullptr;
};

// How a DCP target is cut over ranks: one of these. None: as the source is cut, and a torch.save file on one rank.
struct LayoutOptions {
  uint64_t world_size = 0;                   // FSDP: every tensor in rows over so many ranks
  std::string mesh = {};                     // "dp=8,tp=4", with
  std::vector<std::string> placements = {};  // "GLOB=dp:shard(0),tp:shard(1)"; see ParseMeshLayout
  std::filesystem::path file = {};           // "dcpctl.layout/1", JSON
  std::filesystem::path like = {};           // a DCP checkpoint with the same keys and shapes

  [[nodiscard]] bool empty() const { return world_size == 0 && mesh.empty() && file.empty() && like.empty(); }
};

inline constexpr int kLeastZstdLevel = 1;
inline constexpr int kDefaultZstdLevel = 3;  // what PyTorch writes with
inline constexpr int kMostZstdLevel = 19;    // beyond, a reader needs more memory, too

struct ConvertOptions {
  Selection selection = {};
  RunOptions run = {};
  bool flat = false;          // keep flat keys instead of nesting them as the checkpoint says
  bool int_keys = false;      // optimizer state keys "0", "1" become integers again
  bool skip_damaged = false;  // leave out what cannot be read, each as a finding of severity kError
  ObjectPolicy objects = ObjectPolicy::kKeep;
  std::vector<std::string> allow_globals = {};  // "module.name", refused by default as attacks
  // DCP target: a PyTorch version that must read it. Also decides how containers are taken apart; empty: its classes
  // are those that all from 2.0 on know, and a DCP source keeps its entries.
  std::string compat = {};
  DataPolicy data = DataPolicy::kRewrite;        // DCP to DCP; anything else takes kRewrite alone
  LayoutOptions layout = {};                     // DCP target, with kRewrite
  std::optional<DType> dtype = std::nullopt;     // floating-point tensors become this
  std::optional<int> zstd_level = std::nullopt;  // DCP target, with kRewrite: items are compressed
};

// What ConvertOptions::dtype came to, in tensors.
struct CastTotals {
  DType to = DType::kFloat32;
  uint64_t cast = 0;
  uint64_t same = 0;   // had that type
  uint64_t other = 0;  // no floating-point type: left as they are
};

struct ConvertReport {
  PlanSummary plan;
  uint64_t tensors = 0;
  uint64_t objects = 0;
  uint64_t tensor_bytes = 0;
  uint64_t left_out = 0;  // by skip_damaged
  std::optional<CastTotals> cast = std::nullopt;
  bool written = false;                // false after a dry run
  std::vector<RankTotals> ranks = {};  // what each rank gets, where a layout was asked for
  double seconds = 0;
};

// DCP directory -> one torch.save file. `target` "-" writes one forward stream to standard output, byte for
// byte what the file would hold. Errors: kUsage (a pattern that matches nothing is kNotFound), kNotFound,
// kExists, kIo, kCorrupt, kUnsupported, kLimit, kMismatch (a source changed), kCancelled.
[[nodiscard]] Result<ConvertReport> DcpToTorch(const std::filesystem::path& source, const std::filesystem::path& target,
                                               const ConvertOptions& options = {});

// One torch.save file -> DCP directory. The target must not exist or be empty, unless RunOptions::force.
// Errors: those of DcpToTorch.
[[nodiscard]] Result<ConvertReport> TorchToDcp(const std::filesystem::path& source, const std::filesystem::path& target,
                                               const ConvertOptions& options = {});

// DCP directory -> DCP directory for other ranks; `options` has a layout. A part of a tensor that a rank of the new
// world asks for is one whole record, in that rank's file or, of replicas, in that of one of them; tensors without
// dimensions and objects are spread over the ranks. Errors: those of DcpToTorch; kUsage for a layout that is wrong in
// itself, kNotFound for a rule that matches nothing, kMismatch for a `like` with other keys or shapes.
[[nodiscard]] Result<ConvertReport> Reshard(const std::filesystem::path& source, const std::filesystem::path& target,
                                            const ConvertOptions& options);

// Any readable source -> `to`. Errors: those of DcpToTorch.
[[nodiscard]] Result<ConvertReport> Convert(const std::filesystem::path& source, const std::filesystem::path& target,
                                            OutputFormat to, const ConvertOptions& options = {});

}  // namespace dcpctl
