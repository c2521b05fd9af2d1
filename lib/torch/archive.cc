#include "torch/archive.h"

#include <charconv>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "base/quote.h"
#include "base/result.h"
#include "zip/format.h"

namespace dcpctl::torch {
namespace {

// PyTorch's readers accept this range; torch.save writes 3.
constexpr uint64_t kMinVersion = 1;
constexpr uint64_t kMaxVersion = 10;
// Records of one word, "little" or "3\n".
constexpr uint64_t kMaxWordBytes = 64;

tl::unexpected<Error> Refuse(const Archive& archive, uint64_t offset, ErrorKind kind, std::string message) {
  return Fail(Place{archive.file, offset}, kind, std::move(message));
}

// PyTorch takes it from the first entry of the directory.
Result<std::string> ReadPrefix(const Archive& archive) {
  const zip::Directory& directory = archive.directory;
  if (directory.entries.empty()) {
    return Refuse(archive, directory.directory_offset, ErrorKind::kCorrupt,
                  "zip archive is empty, expected the records of torch.save");
  }
  const zip::Entry& first = directory.entries.front();
  const size_t slash = first.name.find('/');
  if (slash == std::string::npos) {
    return Refuse(
        archive, first.header_offset, ErrorKind::kCorrupt,
        "first " + zip::Describe(first) + " is in no folder, expected NAME/data.pkl: torch.save didn't write this");
  }
  return first.name.substr(0, slash + 1);
}

// The text of a short record, without white space at its end; nothing when there is no such record.
Result<std::optional<std::string>> ReadWord(const ByteSource& source, const Archive& archive, std::string_view name) {
  const zip::Entry* entry = FindEntry(archive, name);
  if (!entry) return std::nullopt;
  DCPCTL_ASSIGN(const std::vector<std::byte> bytes, zip::ReadRecord(source, *entry, kMaxWordBytes));
  std::string word(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  while (!word.empty() && (word.back() == '\n' || word.back() == '\r' || word.back() == ' ')) word.pop_back();
  return word;
}

Result<bool> ReadBigEndian(const ByteSource& source, const Archive& archive) {
  DCPCTL_ASSIGN(const std::optional<std::string> word, ReadWord(source, archive, "byteorder"));
  if (!word || *word == "little") return false;  // versions before 2.1 don't say
  if (*word == "big") return true;
  return Refuse(archive, FindEntry(archive, "byteorder")->header_offset, ErrorKind::kCorrupt,
                "byteorder record is " + Quote(*word) + ", expected \"little\" or \"big\"");
}

Result<std::optional<uint64_t>> ReadVersion(const ByteSource& source, const Archive& archive) {
  for (const char* name : {".data/version", "version"}) {  // the order in which PyTorch looks
    DCPCTL_ASSIGN(const std::optional<std::string> word, ReadWord(source, archive, name));
    if (!word) continue;
    uint64_t version = 0;
    const auto [end, error] = std::from_chars(word->data(), word->data() + word->size(), version);
    const bool is_number = error == std::errc() && end == word->data() + word->size();
    if (is_number && version >= kMinVersion && version <= kMaxVersion) return version;
    return Refuse(archive, FindEntry(archive, name)->header_offset,
                  is_number ? ErrorKind::kUnsupported : ErrorKind::kCorrupt,
                  "version of the archive is " + Quote(*word) + ", expected " + std::to_string(kMinVersion) + " to " +
                      std::to_string(kMaxVersion));
  }
  return std::nullopt;
}

// Names what else a zip archive may be.
Result<const zip::Entry*> FindPickle(const Archive& archive) {
  if (const zip::Entry* constants = FindEntry(archive, "constants.pkl")) {
    return Refuse(
        archive, constants->header_offset, ErrorKind::kUnsupported,
        "this is a TorchScript archive (it has " + zip::Describe(*constants) + "), expected one that torch.save wrote");
  }
  if (const zip::Entry* entry = FindEntry(archive, "data.pkl")) return entry;
  return Refuse(archive, archive.directory.directory_offset, ErrorKind::kCorrupt,
                "zip archive has no record " + Quote(archive.prefix + "data.pkl") + ": torch.save didn't write this");
}

Result<pickle::Document> ReadDocument(const ByteSource& source, const zip::Entry& entry, const Limits& limits) {
  DCPCTL_ASSIGN(const uint64_t offset, zip::FindPayload(source, entry));
  pickle::ReadOptions options{
      .file = source.name(), .base_offset = offset, .allow_persistent_ids = true, .limits = limits};
  options.limits.pickle_bytes = MostPickleBytes(entry, limits);
  DCPCTL_ASSIGN(std::vector<std::byte> bytes, zip::ReadRecord(source, entry, options.limits.pickle_bytes));
  const auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  auto document = pickle::ReadPickle(std::span(*owner), options);
  if (!document) return Fail(std::move(document).error().In("in " + zip::Describe(entry)));
  document->KeepAlive(owner);
  return document;
}

}  // namespace

uint64_t MostPickleBytes(const zip::Entry& entry, const Limits& limits) {
  return entry.method == zip::kStored ? limits.pickle_bytes : limits.PickleBytesFrom(entry.compressed_bytes);
}

Result<Archive> OpenArchive(const ByteSource& source, uint64_t base, uint64_t length, const Limits& limits) {
  Archive archive;
  archive.file = source.name();
  DCPCTL_ASSIGN(archive.directory, zip::ReadDirectory(source, base, length, limits));
  DCPCTL_ASSIGN(archive.prefix, ReadPrefix(archive));
  DCPCTL_ASSIGN(archive.pickle_entry, FindPickle(archive));
  DCPCTL_ASSIGN(archive.version, ReadVersion(source, archive));
  DCPCTL_ASSIGN(archive.big_endian, ReadBigEndian(source, archive));
  DCPCTL_ASSIGN(archive.document, ReadDocument(source, *archive.pickle_entry, limits));
  return archive;
}

const zip::Entry* FindEntry(const Archive& archive, std::string_view name) {
  return archive.directory.Find(archive.prefix + std::string(name));
}

Result<Record> Locate(const ByteSource& source, const zip::Entry& entry) {
  const bool deflated = entry.method == zip::kDeflated;
  if (!deflated && entry.method != zip::kStored) {
    return Fail(Place{source.name(), entry.header_offset}, ErrorKind::kCorrupt,
                zip::Describe(entry) + " has compression method " + std::to_string(entry.method) +
                    ", expected stored or deflated");
  }
  if (!deflated && entry.compressed_bytes != entry.bytes) {
    return Fail(Place{source.name(), entry.header_offset}, ErrorKind::kCorrupt,
                zip::Describe(entry) + " is stored in " + std::to_string(entry.compressed_bytes) +
                    " bytes, expected its " + std::to_string(entry.bytes));
  }
  DCPCTL_ASSIGN(const uint64_t offset, zip::FindPayload(source, entry));
  return Record{.offset = offset,
                .bytes = entry.bytes,
                .encoded_bytes = entry.compressed_bytes,
                .crc = entry.crc,
                .crc_known = entry.crc != 0 || entry.bytes == 0,
                .codec = deflated ? Codec::kDeflate : Codec::kNone};
}

Result<Record> FindStorage(const ByteSource& source, const Archive& archive, std::string_view key) {
  const std::string name = "data/" + std::string(key);
  if (const zip::Entry* entry = FindEntry(archive, name)) return Locate(source, *entry);
  return Refuse(archive, archive.directory.directory_offset, ErrorKind::kCorrupt,
                "archive has no record " + Quote(archive.prefix + name) + ", expected one for storage " + Quote(key));
}

Result<StoredTensor> ArchiveStorages::Find(std::string_view key) const {
  DCPCTL_ASSIGN(const Record record, FindStorage(source_, archive_, key));
  return StoredTensor{.offset = record.offset,
                      .bytes = record.bytes,
                      .encoded_bytes = record.codec == Codec::kNone ? 0 : record.encoded_bytes,
                      .first_element = 0,
                      .crc = record.crc,
                      .crc_known = record.crc_known,
                      .big_endian = archive_.big_endian,
                      .codec = record.codec};
}

}  // namespace dcpctl::torch
