#include "base/window_source.h"

#include <cstring>

#include "base/checked.h"
#include "base/result.h"

namespace dcpctl {

Result<WindowSource> WindowSource::Read(const ByteSource& inner, uint64_t base, uint64_t length,
                                        const WindowOptions& options) {
  WindowSource source(inner);
  const bool meet = options.head_bytes >= length || options.tail_bytes >= length - options.head_bytes;
  const uint64_t head_bytes = meet ? length : options.head_bytes;
  source.head_.offset = base;
  DCPCTL_ASSIGN(source.head_.bytes, ReadRange(inner, base, head_bytes));
  if (meet) return source;
  // Checked first: a range that ends past the file must not wrap around.
  if (!InRange(base, length, inner.size())) {
    return Fail(Place{inner.name(), base}, ErrorKind::kCorrupt,
                "range of " + std::to_string(length) + " bytes ends past the end, expected at most " +
                    std::to_string(inner.size()) + " bytes in all");
  }
  source.tail_.offset = base + length - options.tail_bytes;
  DCPCTL_ASSIGN(source.tail_.bytes, ReadRange(inner, source.tail_.offset, options.tail_bytes));
  return source;
}

bool WindowSource::Serve(const Window& window, uint64_t offset, std::span<std::byte> out) {
  if (offset < window.offset || !InRange(offset - window.offset, out.size(), window.bytes.size())) return false;
  if (!out.empty()) std::memcpy(out.data(), window.bytes.data() + (offset - window.offset), out.size());
  return true;
}

Result<void> WindowSource::ReadAt(uint64_t offset, std::span<std::byte> out) const {
  if (Serve(head_, offset, out) || Serve(tail_, offset, out)) return {};
  return inner_->ReadAt(offset, out);
}

}  // namespace dcpctl
