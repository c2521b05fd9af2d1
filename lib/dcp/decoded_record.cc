#include "dcp/decoded_record.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "base/result.h"
#include "zip/format.h"

namespace dcpctl::dcp {
namespace {

// Fills buffers, in their order, from a stream.
class Collector {
 public:
  explicit Collector(std::map<uint64_t, std::vector<std::byte>>& buffers)
      : next_(buffers.begin()), end_(buffers.end()) {}

  void Append(std::span<const std::byte> bytes) {
    const uint64_t after = position_ + bytes.size();
    while (next_ != end_ && next_->first < after) {
      auto& [begin, buffer] = *next_;
      const uint64_t from = std::max(begin, position_);
      const uint64_t to = std::min(begin + buffer.size(), after);
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(from - position_), to - from,
                  buffer.begin() + static_cast<std::ptrdiff_t>(from - begin));
      if (to < begin + buffer.size()) break;  // the rest comes next
      ++next_;
    }
    position_ = after;
  }
  [[nodiscard]] bool full() const { return next_ == end_; }

 private:
  std::map<uint64_t, std::vector<std::byte>>::iterator next_;
  const std::map<uint64_t, std::vector<std::byte>>::iterator end_;
  uint64_t position_ = 0;
};

}  // namespace

Result<void> DecodedRecord::Decode(uint64_t max_decoded, uint64_t edge_bytes) {
  const uint64_t known = edges_.size();
  edges_ = EdgeSource(file_.name(), edge_bytes);
  edges_.Reserve(known);
  const auto append = [this](std::span<const std::byte> bytes) -> Result<void> {
    edges_.Append(bytes);
    return {};
  };
  DCPCTL_TRY(DecodeZstd(file_, offset_, length_, max_decoded, append));
  return {};
}

Result<void> DecodedRecord::HoldHeaders(const zip::Directory& directory) {
  for (const zip::Entry& entry : directory.entries) {
    const uint64_t bytes = zip::kLocalFixedBytes + entry.name.size();
    if (!edges_.Has(entry.header_offset, bytes)) headers_[entry.header_offset].resize(bytes);
  }
  if (headers_.empty()) return {};
  Collector collector(headers_);
  const auto append = [&collector](std::span<const std::byte> bytes) -> Result<void> {
    collector.Append(bytes);
    return {};
  };
  DCPCTL_TRY(DecodeZstd(file_, offset_, length_, edges_.size(), append));
  if (collector.full()) return {};
  return Fail(Place{name(), offset_}, ErrorKind::kMismatch, "changed while it was being read");
}

Result<void> DecodedRecord::ReadAt(uint64_t offset, std::span<std::byte> out) const {
  if (const auto after = headers_.upper_bound(offset); after != headers_.begin()) {
    const auto& [begin, header] = *std::prev(after);
    if (offset - begin < header.size() && out.size() <= header.size() - (offset - begin)) {
      std::copy_n(header.begin() + static_cast<std::ptrdiff_t>(offset - begin), out.size(), out.begin());
      return {};
    }
  }
  return edges_.ReadAt(offset, out);
}

}  // namespace dcpctl::dcp
