#include "torch/legacy.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/quote.h"
#include "base/result.h"

namespace dcpctl::torch {
namespace {

using pickle::Kind;
using pickle::Value;

// 0x1950a86a20f9469cfc6c.
constexpr std::string_view kMagicNumber("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10);
// The pickles around the state have about 100 bytes, and the list of keys 20 for each.
constexpr uint64_t kSmallRead = 4096;
constexpr uint64_t kStateRead = uint64_t{256} << 10;

bool IsMagicNumber(Value value) { return value.Is(Kind::kBigInt) && value.AsText() == kMagicNumber; }

// Reads pickle after pickle. Errors say which.
class PickleRow {
 public:
  PickleRow(const ByteSource& source, const Limits& limits) : source_(source), limits_(limits) {}

  Result<StreamedPickle> Next(uint64_t first_read, const char* what) {
    auto next = ReadPickleAt(source_, offset_, first_read, limits_);
    if (!next) return Fail(std::move(next).error().In(std::string("in the pickle of ") + what));
    offset_ += next->bytes;
    return next;
  }
  [[nodiscard]] uint64_t offset() const { return offset_; }

 private:
  const ByteSource& source_;
  const Limits& limits_;
  uint64_t offset_ = 0;
};

class LegacyOpener {
 public:
  LegacyOpener(const ByteSource& source, const Limits& limits) : source_(source), row_(source, limits) {}

  Result<LegacyStream> Run() {
    DCPCTL_TRY(ReadMagicNumber());
    DCPCTL_TRY(ReadProtocolVersion());
    LegacyStorages::Options options;
    DCPCTL_ASSIGN(options.little_endian, ReadLittleEndian());
    DCPCTL_ASSIGN(StreamedPickle state, row_.Next(kStateRead, "the state"));
    DCPCTL_ASSIGN(options.keys, ReadKeys());
    options.offset = row_.offset();
    DCPCTL_ASSIGN(LegacyStorages storages, LegacyStorages::Make(source_, state.document, options));
    return LegacyStream{
        .state = std::move(state), .storages = std::move(storages), .little_endian = options.little_endian};
  }

 private:
  tl::unexpected<Error> Refuse(const StreamedPickle& at, ErrorKind kind, std::string message) const {
    return Fail(Place{source_.name(), at.offset}, kind, std::move(message));
  }

  Result<void> ReadMagicNumber() {
    DCPCTL_ASSIGN(const StreamedPickle magic, row_.Next(kSmallRead, "the magic number"));
    if (IsMagicNumber(magic.document.root())) return {};
    return Refuse(magic, ErrorKind::kCorrupt,
                  "file begins with a pickle of type " + pickle::TypeName(magic.document.root()) +
                      ", expected the magic number of torch.save's stream form");
  }

  Result<void> ReadProtocolVersion() {
    DCPCTL_ASSIGN(const StreamedPickle version, row_.Next(kSmallRead, "the protocol version"));
    const Value value = version.document.root();
    if (value.Is(Kind::kInt) && value.AsInt() == kLegacyProtocolVersion) return {};
    const bool is_number = value.Is(Kind::kInt);
    return Refuse(version, is_number ? ErrorKind::kUnsupported : ErrorKind::kCorrupt,
                  "protocol version is " +
                      (is_number ? std::to_string(value.AsInt()) : "of type " + pickle::TypeName(value)) +
                      ", expected " + std::to_string(kLegacyProtocolVersion));
  }

  // PyTorch writes more than this, and reads none of it.
  Result<bool> ReadLittleEndian() {
    DCPCTL_ASSIGN(const StreamedPickle info, row_.Next(kSmallRead, "the facts about the machine"));
    const Value root = info.document.root();
    if (!root.Is(Kind::kDict)) {
      return Refuse(info, ErrorKind::kCorrupt,
                    "facts about the machine are of type " + pickle::TypeName(root) + ", expected a dict");
    }
    const std::optional<Value> little_endian = root.Find("little_endian");
    if (!little_endian) return true;
    if (little_endian->Is(Kind::kBool)) return little_endian->AsBool();
    return Refuse(info, ErrorKind::kCorrupt,
                  "little_endian is of type " + pickle::TypeName(*little_endian) + ", expected a bool");
  }

  Result<std::vector<std::string>> ReadKeys() {
    DCPCTL_ASSIGN(const StreamedPickle list, row_.Next(kSmallRead, "the list of storages"));
    const Value root = list.document.root();
    if (!root.Is(Kind::kList)) {
      return Refuse(list, ErrorKind::kCorrupt,
                    "list of storages is of type " + pickle::TypeName(root) + ", expected a list");
    }
    std::vector<std::string> keys;
    keys.reserve(root.size());
    for (size_t i = 0; i < root.size(); ++i) {
      if (!root[i].Is(Kind::kString)) {
        return Refuse(list, ErrorKind::kCorrupt,
                      "item " + std::to_string(i) + " in the list of storages is of type " + pickle::TypeName(root[i]) +
                          ", expected a string");
      }
      keys.emplace_back(root[i].AsText());
    }
    return keys;
  }

  const ByteSource& source_;
  PickleRow row_;
};

}  // namespace

bool IsLegacyStream(std::span<const std::byte> head) {
  uint64_t consumed = 0;
  const auto document = pickle::ReadPickle(head, {}, &consumed);
  return document && IsMagicNumber(document->root());
}

Result<LegacyStream> OpenLegacy(const ByteSource& source, const Limits& limits) {
  return LegacyOpener(source, limits).Run();
}

}  // namespace dcpctl::torch
