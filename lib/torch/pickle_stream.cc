#include "torch/pickle_stream.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"

namespace dcpctl::torch {
namespace {

// A pickle that does not fit is read again from its begin, which then adds a third of the last reading.
constexpr uint64_t kGrowth = 4;

}  // namespace

Result<StreamedPickle> ReadPickleAt(const ByteSource& source, uint64_t offset, uint64_t first_read,
                                    const Limits& limits) {
  const uint64_t left = source.size() - std::min(offset, source.size());
  const uint64_t most =
      left <= limits.pickle_bytes ? left : limits.pickle_bytes + 1;  // one more tells a pickle that is too large
  for (uint64_t window = first_read;; window *= kGrowth) {
    const bool is_last = window >= most;
    DCPCTL_ASSIGN(std::vector<std::byte> bytes, ReadRange(source, offset, is_last ? most : window));
    const auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    pickle::ReadOptions options{.file = source.name(), .base_offset = offset, .limits = limits};
    // The reader tells "goes on behind what I may see" from "is cut off": the former is kLimit.
    if (!is_last) options.limits.pickle_bytes = window - 1;
    uint64_t consumed = 0;
    auto document = pickle::ReadPickle(std::span(*owner), options, &consumed);
    if (document) {
      document->KeepAlive(owner);
      return StreamedPickle{.document = *std::move(document), .offset = offset, .bytes = consumed};
    }
    if (is_last || document.error().kind() != ErrorKind::kLimit) return Fail(std::move(document).error());
  }
}

}  // namespace dcpctl::torch
