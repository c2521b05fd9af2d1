#include "engine/block_scan.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "base/parallel.h"
#include "base/result.h"
#include "engine/buffer_pool.h"
#include "engine/plan_files.h"
#include "engine/scratch.h"
#include "engine/source_reader.h"
#include "engine/tile_filler.h"
#include "io/file_cache.h"
#include "plan/region.h"
#include "plan/schedule.h"

namespace dcpctl::engine {
namespace {

// Elements from `first` on that are a box of the tensor and no more than `most`.
uint64_t BoxAt(DimsView shape, uint64_t first, uint64_t most) {
  uint64_t row = 1;
  size_t d = shape.size();
  while (d > 0 && row * shape[d - 1] <= most && first % (row * shape[d - 1]) == 0) row *= shape[--d];
  if (d == 0) return row;
  return std::min(most / row, shape[d - 1] - first / row % shape[d - 1]) * row;
}

struct Layout {
  unsigned jobs = 1;
  uint64_t fill_elements = kScanBlock;  // that are read together
  uint64_t buffer_bytes = 0;            // and as much for scratch
  uint64_t decoded_bytes = 0;
};

Result<Layout> LayoutFor(const Plan& plan, const BlockScanInput& input) {
  if (input.memory_bytes < kLeastMemory) {
    return Fail(ErrorKind::kLimit, "memory budget is " + std::to_string(input.memory_bytes) +
                                       " bytes, expected at least " + std::to_string(kLeastMemory));
  }
  uint64_t item = 1;
  bool strided = false;
  for (const Region& region : plan.regions) {
    item = std::max<uint64_t>(item, region.item_bytes);
    strided = strided || HasStridedSource(plan, region);
  }
  const bool decodes = std::any_of(plan.sources.begin(), plan.sources.end(),
                                   [](const PlanSource& source) { return source.stored.codec != Codec::kNone; });
  const uint64_t for_buffers = decodes ? input.memory_bytes / 2 : input.memory_bytes;
  Layout layout{.decoded_bytes = input.memory_bytes - for_buffers};
  const unsigned jobs = EffectiveJobs(input.jobs);
  // Of a transposed source short runs are read: fewer when more is read together.
  if (strided && for_buffers / (2 * kScanGroup * item) >= jobs) layout.fill_elements = kScanGroup;
  layout.buffer_bytes = layout.fill_elements * item;
  layout.jobs = static_cast<unsigned>(std::clamp<uint64_t>(for_buffers / (2 * layout.buffer_bytes), 1, jobs));
  return layout;
}

class BlockScanner {
 public:
  BlockScanner(const BlockScanInput& input, const Layout& layout,
               const std::function<Result<void>(const ScanBlock&)>& look)
      : in_(input),
        layout_(layout),
        plan_(input.plan),
        look_(look),
        cache_(input.files, PathsOf(input.plan)),
        reader_(input.plan, cache_, input.files, layout.decoded_bytes, input.scratch_directory),
        filler_(input.plan, reader_),
        buffers_(layout.jobs, layout.buffer_bytes),
        scratch_(layout.jobs, layout.buffer_bytes),
        groups_left_(input.plan.regions.size()),
        errors_(input.plan.regions.size()) {
    for (uint32_t r = 0; r < plan_.regions.size(); ++r) {
      const uint64_t groups = (ElementsOf(r) + kScanGroup - 1) / kScanGroup;
      groups_left_[r] = groups;
      for (uint64_t g = 0; g < groups; ++g) groups_.push_back({.region = r, .group = g});
    }
  }

  Result<std::vector<std::optional<Error>>> Run() {
    DCPCTL_TRY(ParallelFor(groups_.size(), layout_.jobs, in_.stop, [this](uint64_t i) { return ScanOne(groups_[i]); }));
    DCPCTL_TRY(cache_.CheckUnchanged());
    return std::move(errors_);
  }

 private:
  struct Group {
    uint32_t region;
    uint64_t group;
  };

  uint64_t ElementsOf(uint32_t region) const { return plan_.regions[region].bytes / plan_.regions[region].item_bytes; }

  Result<void> ScanOne(const Group& group) {
    const auto buffer = buffers_.Take();
    const auto room = scratch_.Take();
    Scratch scratch(room.bytes());
    const uint64_t begin = group.group * kScanGroup;
    const uint64_t end = std::min(begin + kScanGroup, ElementsOf(group.region));
    for (uint64_t first = begin; first < end && !HasFailed(group.region); first += layout_.fill_elements) {
      const uint64_t count = std::min(layout_.fill_elements, end - first);
      const auto bytes = buffer.bytes().first(count * plan_.regions[group.region].item_bytes);
      if (auto filled = Fill(group.region, first, count, bytes, scratch); !filled) {
        DCPCTL_TRY(Record(group.region, std::move(filled).error()));
        break;
      }
      DCPCTL_TRY(Look(group, first, count, bytes));
    }
    return --groups_left_[group.region] > 0 ? Result<void>() : EndRegion(group.region, scratch);
  }

  Result<void> EndRegion(uint32_t region, Scratch& scratch) {
    if (!HasFailed(region)) {
      if (auto same = filler_.VerifySources(region, scratch); !same)
        DCPCTL_TRY(Record(region, std::move(same).error()));
    }
    reader_.FinishRegion(plan_.regions[region]);
    return {};
  }

  Result<void> Fill(uint32_t region, uint64_t first, uint64_t count, std::span<std::byte> bytes, Scratch& scratch) {
    const uint64_t item = plan_.regions[region].item_bytes;
    for (uint64_t done = 0; done < count;) {
      const uint64_t box = BoxAt(plan_.ShapeOf(plan_.regions[region]), first + done, count - done);
      DCPCTL_TRY(filler_.Fill(region, (first + done) * item, bytes.subspan(done * item, box * item), scratch));
      done += box;
    }
    return {};
  }

  Result<void> Look(const Group& group, uint64_t first, uint64_t count, std::span<const std::byte> bytes) {
    const uint64_t item = plan_.regions[group.region].item_bytes;
    for (uint64_t done = 0; done < count; done += kScanBlock) {
      const uint64_t part = std::min(kScanBlock, count - done);
      DCPCTL_TRY(look_({.region = group.region,
                        .group = group.group,
                        .first = first + done,
                        .count = part,
                        .bytes = bytes.subspan(done * item, part * item)}));
    }
    if (in_.observer == nullptr) return {};
    const std::lock_guard lock(mutex_);
    in_.observer->OnBytes(bytes.size());
    return {};
  }

  bool HasFailed(uint32_t region) {
    const std::lock_guard lock(mutex_);
    return errors_[region].has_value();
  }

  Result<void> Record(uint32_t region, Error error) {
    const ErrorKind kind = error.kind();
    if (kind == ErrorKind::kCancelled || kind == ErrorKind::kMismatch || kind == ErrorKind::kInternal)
      return Fail(std::move(error));
    const std::lock_guard lock(mutex_);
    if (!errors_[region]) errors_[region] = std::move(error);
    return {};
  }

  const BlockScanInput& in_;
  const Layout& layout_;
  const Plan& plan_;
  const std::function<Result<void>(const ScanBlock&)>& look_;
  io::FileCache cache_;
  SourceReader reader_;
  TileFiller filler_;
  BufferPool buffers_;
  BufferPool scratch_;
  std::vector<Group> groups_;
  std::vector<std::atomic<uint64_t>> groups_left_;  // by region
  std::mutex mutex_;                                // guards the errors and the observer
  std::vector<std::optional<Error>> errors_;        // by region
};

}  // namespace

Result<std::vector<std::optional<Error>>> ScanBlocks(const BlockScanInput& input,
                                                     const std::function<Result<void>(const ScanBlock&)>& look) {
  DCPCTL_ASSIGN(const Layout layout, LayoutFor(input.plan, input));
  return BlockScanner(input, layout, look).Run();
}

}  // namespace dcpctl::engine
