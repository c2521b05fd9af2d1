#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/quote.h"
#include "base/result.h"
#include "base/text_hash.h"
#include "dcpctl/mesh.h"
#include "mesh/rank_layout.h"
#include "mesh/split.h"
#include "model/coverage.h"

namespace dcpctl {
namespace {

// Names of one kind that a message shows; it counts the others.
constexpr size_t kShown = 5;

// "2 keys are only in X ("a", "b")"
class Difference {
 public:
  void Add(std::string text) {
    ++count_;
    if (count_ <= kShown) shown_ += (shown_.empty() ? "" : ", ") + std::move(text);
  }
  // Adds to `message` when there is any.
  void Describe(std::string_view one, std::string_view many, std::string& message) const {
    if (count_ == 0) return;
    message += (message.empty() ? "" : "; ") + std::to_string(count_) + std::string(count_ == 1 ? one : many) + " (" +
               shown_ + (count_ > kShown ? ", ..." : "") + ")";
  }

 private:
  uint64_t count_ = 0;
  std::string shown_;
};

std::string KindName(bool is_tensor) { return is_tensor ? "a tensor" : "an object"; }

class LikeAssigner {
 public:
  LikeAssigner(std::span<const LayoutEntry> entries, const Catalog& like, const Limits& limits)
      : entries_(entries), like_(like), limits_(limits), budget_(limits.boxes) {}

  Result<RankLayout> Run(ExtraKeys extra_keys) {
    DCPCTL_TRY(mesh::CheckTotalBytes(entries_));
    for (const EntryRef ref : like_.entries) by_key_.emplace(like_.KeyOf(ref), ref);
    DCPCTL_TRY(CompareKeys(extra_keys));
    DCPCTL_TRY(NumberRanks());
    for (const LayoutEntry& entry : entries_) {
      const EntryRef ref = by_key_.at(entry.key);
      auto done =
          ref.is_tensor ? AssignTensor(entry, like_.tensors[ref.index]) : AssignObject(entry, like_.objects[ref.index]);
      if (!done) return Fail(std::move(done).error().In("entry " + Quote(entry.key)));
    }
    return std::move(result_);
  }

 private:
  Result<void> CompareKeys(ExtraKeys extra_keys) const {
    Difference here;
    Difference there;
    Difference other;
    TextViewMap<const LayoutEntry*> ours;
    for (const LayoutEntry& entry : entries_) {
      ours.emplace(entry.key, &entry);
      const auto found = by_key_.find(entry.key);
      if (found == by_key_.end()) {
        here.Add(Quote(entry.key));
      } else if (const std::string difference = Compare(entry, found->second); !difference.empty()) {
        other.Add(Quote(entry.key) + ": " + difference);
      }
    }
    if (extra_keys == ExtraKeys::kRefuse) {
      for (const EntryRef ref : like_.entries) {
        if (!ours.contains(like_.KeyOf(ref))) there.Add(Quote(like_.KeyOf(ref)));
      }
    }
    std::string message;
    here.Describe(" key is only in the source", " keys are only in the source", message);
    there.Describe(" key is only there", " keys are only there", message);
    other.Describe(" entry differs", " entries differ", message);
    if (message.empty()) return {};
    return Fail(Place{.file = like_.root.string()}, ErrorKind::kMismatch,
                "its layout does not fit, expected the same keys and shapes: " + message);
  }

  // What is different; empty when nothing is.
  std::string Compare(const LayoutEntry& entry, EntryRef ref) const {
    if (entry.is_tensor != ref.is_tensor)
      return KindName(entry.is_tensor) + " in the source, " + KindName(ref.is_tensor) + " there";
    if (!entry.is_tensor) return {};
    const DimsView shape = like_.tensors[ref.index].shape;
    if (std::equal(shape.begin(), shape.end(), entry.shape.begin(), entry.shape.end())) return {};
    return ToString(entry.shape) + " in the source, " + ToString(shape) + " there";
  }

  // As when a checkpoint is written again with its own layout: files that are not named after a rank come last.
  Result<void> NumberRanks() {
    uint64_t world = 0;
    for (const SourceFile& file : like_.files) {
      if (!file.rank) continue;
      if (*file.rank >= limits_.ranks)
        return Fail(Place{.file = like_.root.string()}, ErrorKind::kLimit,
                    "file " + Quote(file.path) + " is of rank " + std::to_string(*file.rank) + ", expected " +
                        std::to_string(limits_.ranks) + " ranks at most");
      world = std::max(world, *file.rank + 1);
    }
    for (const SourceFile& file : like_.files) {
      const bool is_another = !file.rank && file.entries > 0;
      rank_of_.push_back(file.rank ? *file.rank : world);
      if (is_another) ++world;
    }
    if (world > limits_.ranks)
      return Fail(Place{.file = like_.root.string()}, ErrorKind::kLimit,
                  std::to_string(world) + " ranks, expected " + std::to_string(limits_.ranks) + " at most");
    result_.ranks.resize(std::max<uint64_t>(world, 1));
    return {};
  }

  Result<uint64_t> RankOf(uint32_t file) const {
    if (file == kNoFile)
      return Fail(Place{.file = like_.root.string()}, ErrorKind::kCorrupt,
                  "a record that is in no file, expected one that tells the rank");
    return rank_of_[file];
  }

  Result<void> AssignObject(const LayoutEntry& entry, const Object& object) {
    DCPCTL_ASSIGN(const uint64_t rank, RankOf(object.file));
    mesh::AddWhole(result_, entry, rank);
    return {};
  }

  Result<void> AssignTensor(const LayoutEntry& entry, const Tensor& tensor) {
    const auto chunks = like_.ChunksOf(tensor);
    DCPCTL_TRY(budget_.Spend(chunks.size()));
    if (IsEmpty({.offsets = {}, .sizes = tensor.shape})) {
      DCPCTL_ASSIGN(const uint64_t rank, chunks.empty() ? Result<uint64_t>(0) : RankOf(chunks[0].file));
      mesh::AddWhole(result_, entry, rank);
      return {};
    }
    DCPCTL_TRY(CheckTiling(tensor, chunks));
    for (const Chunk& chunk : chunks) {
      const BoxView box = like_.BoxOf(tensor, chunk);
      if (IsEmpty(box)) continue;
      DCPCTL_ASSIGN(const uint64_t rank, RankOf(chunk.file));
      mesh::AddPiece(result_, entry, rank, box);
    }
    return {};
  }

  // Else the result would have holes, or elements twice.
  Result<void> CheckTiling(const Tensor& tensor, std::span<const Chunk> chunks) const {
    const Coverage coverage =
        CheckCoverage(tensor.shape, chunks.size(), [&](uint64_t i) { return like_.BoxOf(tensor, chunks[i]); });
    if (coverage.ok()) return {};
    const auto text = [&](uint64_t i) { return ToString(like_.BoxOf(tensor, chunks[i])); };
    std::string found = "chunks that are too tangled to check";
    if (coverage.outside) found = "chunk " + text(*coverage.outside) + " outside";
    if (coverage.overlap)
      found = "chunks " + text(coverage.overlap->first) + " and " + text(coverage.overlap->second) + " that overlap";
    if (coverage.missing > 0) found = "no chunk for " + ToString(coverage.hole.view());
    return Fail(Place{.file = like_.root.string()}, ErrorKind::kCorrupt,
                found + ", expected chunks that tile " + ToString(tensor.shape));
  }

  std::span<const LayoutEntry> entries_;
  const Catalog& like_;
  const Limits& limits_;
  mesh::Budget budget_;
  TextViewMap<EntryRef> by_key_;   // never iterated
  std::vector<uint64_t> rank_of_;  // by file
  RankLayout result_;
};

}  // namespace

Result<RankLayout> AssignLike(std::span<const LayoutEntry> entries, const Catalog& like, ExtraKeys extra_keys,
                              const Limits& limits) {
  return LikeAssigner(entries, like, limits).Run(extra_keys);
}

}  // namespace dcpctl
