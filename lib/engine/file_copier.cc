#include "engine/file_copier.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>

#include "base/parallel.h"
#include "base/quote.h"
#include "base/result.h"
#include "engine/buffer_pool.h"
#include "engine/plan_files.h"
#include "io/file_cache.h"

namespace dcpctl::engine {
namespace {

constexpr uint64_t kBufferBytes = uint64_t{4} << 20;
constexpr uint64_t kCopyBlock = 4096;

class FileCopier {
 public:
  explicit FileCopier(const CopyInput& input)
      : in_(input),
        jobs_(static_cast<unsigned>(std::min<uint64_t>(EffectiveJobs(input.jobs), input.plan.copies.size()))),
        cache_(input.files, PathsOf(input.plan)),
        buffers_(jobs_, std::clamp(input.memory_bytes / std::max(1U, jobs_), kCopyBlock, kBufferBytes)) {}

  Result<RunOutcome> Run() {
    DCPCTL_TRY(ParallelFor(in_.plan.copies.size(), jobs_, in_.stop, [this](uint64_t i) {
      const PlanCopy& copy = in_.plan.copies[i];
      return copy.link ? Link(copy) : Copy(copy);
    }));
    DCPCTL_TRY(cache_.CheckUnchanged());
    return RunOutcome{.bytes_read = bytes_read_, .bytes_cloned = bytes_cloned_};
  }

 private:
  Result<void> Link(const PlanCopy& copy) {
    DCPCTL_ASSIGN(const auto source, cache_.Open(copy.file));
    return in_.files.Link(*source, in_.directory / copy.path);
  }

  Result<void> Copy(const PlanCopy& copy) {
    DCPCTL_ASSIGN(const auto source, cache_.Open(copy.file));
    DCPCTL_ASSIGN(const auto out, in_.files.CreateTemp(in_.directory / copy.path));
    DCPCTL_TRY(out->Allocate(source->size()));
    DCPCTL_ASSIGN(const uint64_t cloned, Clone(*source, *out));
    DCPCTL_TRY(CopyFrom(cloned, *source, *out));
    return out->Commit(false);
  }

  // All whole blocks, or none. How many bytes.
  Result<uint64_t> Clone(const io::ReadFile& source, io::WriteFile& out) {
    const uint64_t whole = source.size() / kCopyBlock * kCopyBlock;
    if (in_.reflink == Reflink::kNever || whole == 0) return 0;
    DCPCTL_ASSIGN(const bool shared, out.CloneRange(source, 0, 0, whole));
    if (!shared && in_.reflink == Reflink::kAlways) {
      return Fail(Place{.file = out.target().string()}, ErrorKind::kUnsupported,
                  "cannot clone " + Quote(source.name()) + ": the file system does not share these blocks");
    }
    if (!shared) return 0;
    bytes_cloned_ += whole;
    Report(whole);
    return whole;
  }

  Result<void> CopyFrom(uint64_t offset, const io::ReadFile& source, io::WriteFile& out) {
    const auto lease = buffers_.Take();
    source.Hint(io::AccessHint::kSequential, offset);
    while (offset < source.size()) {
      if (in_.stop.stop_requested()) return Fail(ErrorKind::kCancelled, "stopped");
      const auto part = lease.bytes().first(std::min<uint64_t>(lease.bytes().size(), source.size() - offset));
      DCPCTL_TRY(source.ReadAt(offset, part));
      DCPCTL_TRY(out.WriteAt(offset, part));
      out.StartWriteback(offset, part.size());
      offset += part.size();
      bytes_read_ += part.size();
      Report(part.size());
    }
    return {};
  }

  void Report(uint64_t bytes) {
    if (in_.observer == nullptr) return;
    const std::lock_guard lock(mutex_);
    in_.observer->OnBytes(bytes);
  }

  const CopyInput& in_;
  const unsigned jobs_;
  io::FileCache cache_;
  BufferPool buffers_;
  std::atomic<uint64_t> bytes_read_ = 0;
  std::atomic<uint64_t> bytes_cloned_ = 0;
  std::mutex mutex_;  // guards the observer
};

}  // namespace

Result<RunOutcome> CopyFiles(const CopyInput& input) {
  return input.plan.copies.empty() ? RunOutcome{} : FileCopier(input).Run();
}

}  // namespace dcpctl::engine
