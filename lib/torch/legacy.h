// The stream form of torch.save: the default before PyTorch 1.6, still written on request. A row of
// pickles (magic number, protocol version, facts about the machine, the state, list of storage keys), then the
// storages, with nothing between them and nothing that says where they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/byte_source.h"
#include "dcpctl/error.h"
#include "dcpctl/limits.h"
#include "torch/legacy_storages.h"
#include "torch/pickle_stream.h"

namespace dcpctl::torch {

inline constexpr int64_t kLegacyProtocolVersion = 1001;

struct LegacyStream {
  StreamedPickle state;
  LegacyStorages storages;
  bool little_endian = true;  // the machine that wrote it; see LegacyStorages
};

// Whether a file that begins with these bytes is such a stream: whether its first pickle is the magic number.
[[nodiscard]] bool IsLegacyStream(std::span<const std::byte> head);

// The source must outlive the result. Errors: those of ReadPickleAt and LegacyStorages::Make; kUnsupported for
// another protocol version; kCorrupt for pickles that hold something else than they should.
Result<LegacyStream> OpenLegacy(const ByteSource& source, const Limits& limits);

}  // namespace dcpctl::torch
