#include "tests/zip/raw_zip.h"

#include <span>
#include <utility>

#include "base/byte_writer.h"
#include "base/crc32.h"

namespace dcpctl::zip {
namespace {

uint32_t CrcOf(const RawRecord& record) { return record.crc.value_or(Crc32(std::as_bytes(std::span(record.data)))); }

uint32_t CompressedOf(const RawRecord& record) {
  return record.compressed.value_or(static_cast<uint32_t>(record.data.size()));
}

uint32_t BytesOf(const RawRecord& record) { return record.bytes.value_or(static_cast<uint32_t>(record.data.size())); }

std::string LocalPart(const RawRecord& record) {
  const std::string name = record.local_name.value_or(record.name);
  ByteWriter out;
  out.U32(record.local_signature.value_or(0x04034b50));  // signature
  out.U16(20);                                           // version needed
  out.U16(record.local_flags.value_or(record.flags));    // flags
  out.U16(record.local_method.value_or(record.method));  // method
  out.U16(0).U16(0);                                     // time, date
  out.U32(CrcOf(record));                                // CRC-32
  out.U32(record.local_compressed.value_or(CompressedOf(record)));
  out.U32(record.local_bytes.value_or(BytesOf(record)));
  out.U16(static_cast<uint16_t>(name.size()));
  out.U16(static_cast<uint16_t>(record.local_extra.size()));
  out.Text(name).Text(record.local_extra).Text(record.data);
  return std::move(out).Take();
}

std::string CentralPart(const RawRecord& record, uint32_t header_offset) {
  ByteWriter out;
  out.U32(0x02014b50);     // signature
  out.U16(20).U16(20);     // versions: made by, needed
  out.U16(record.flags);   // flags
  out.U16(record.method);  // method
  out.U16(0).U16(0);       // time, date
  out.U32(CrcOf(record));  // CRC-32
  out.U32(CompressedOf(record));
  out.U32(BytesOf(record));
  out.U16(static_cast<uint16_t>(record.name.size()));
  out.U16(static_cast<uint16_t>(record.extra.size()));
  out.U16(static_cast<uint16_t>(record.comment.size()));
  out.U16(0);         // disk
  out.U16(0).U32(0);  // attributes: internal, external
  out.U32(record.header_offset.value_or(header_offset));
  out.Text(record.name).Text(record.extra).Text(record.comment);
  return std::move(out).Take();
}

}  // namespace

std::string MakeZip(const std::vector<RawRecord>& records, const std::function<void(RawEnd&)>& tweak) {
  std::string bytes;
  std::string directory;
  for (const RawRecord& record : records) {
    directory += CentralPart(record, static_cast<uint32_t>(bytes.size()));
    bytes += LocalPart(record);
  }
  RawEnd end{.disk_entries = static_cast<uint16_t>(records.size()),
             .entries = static_cast<uint16_t>(records.size()),
             .directory_bytes = static_cast<uint32_t>(directory.size()),
             .directory_offset = static_cast<uint32_t>(bytes.size())};
  if (tweak) tweak(end);
  ByteWriter out;
  out.Text(bytes).Text(directory).Text(end.after_directory).Text(end.before_end);
  out.U32(0x06054b50);                         // signature
  out.U16(end.disk).U16(end.directory_disk);   // disks
  out.U16(end.disk_entries).U16(end.entries);  // counts
  out.U32(end.directory_bytes).U32(end.directory_offset);
  out.U16(static_cast<uint16_t>(end.comment.size())).Text(end.comment);
  return std::move(out).Take();
}

MemorySource AsSource(const std::string& bytes) {
  const auto view = std::as_bytes(std::span(bytes));
  return MemorySource("test.zip", {view.begin(), view.end()});
}

}  // namespace dcpctl::zip
