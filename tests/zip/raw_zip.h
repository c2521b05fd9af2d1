// Writes zip archives field by field, with any field wrong on request.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_source.h"

namespace dcpctl::zip {

struct RawRecord {
  std::string name;
  std::string data = {};  // as stored
  uint16_t flags = 0;
  uint16_t method = 0;
  // What the directory says; the truth where empty. The local header follows it unless told otherwise.
  std::optional<uint32_t> crc = {};
  std::optional<uint32_t> compressed = {};
  std::optional<uint32_t> bytes = {};
  std::optional<uint32_t> header_offset = {};
  std::string extra = {};
  std::string comment = {};
  // The local header's own.
  std::optional<uint32_t> local_signature = {};
  std::optional<uint16_t> local_flags = {};
  std::optional<uint16_t> local_method = {};
  std::optional<uint32_t> local_compressed = {};
  std::optional<uint32_t> local_bytes = {};
  std::optional<std::string> local_name = {};
  std::string local_extra = {};
};

// The fields of an end of central directory record.
struct RawEnd {
  uint16_t disk = 0;
  uint16_t directory_disk = 0;
  uint16_t disk_entries = 0;
  uint16_t entries = 0;
  uint32_t directory_bytes = 0;
  uint32_t directory_offset = 0;
  std::string comment = {};
  std::string before_end = {};       // between directory and end record
  std::string after_directory = {};  // counted as part of the directory
};

// `tweak` gets the true end record and may change it.
std::string MakeZip(const std::vector<RawRecord>& records, const std::function<void(RawEnd&)>& tweak = {});

// Named "test.zip".
MemorySource AsSource(const std::string& bytes);

}  // namespace dcpctl::zip
