// Facts of the zip format (APPNOTE.TXT 6.3.10, section numbers below) and of the profile that PyTorch
// writes, shared by reader and layout. All integers are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dcpctl::zip {

// 4.3.7 local file header, then name and extra field.
inline constexpr uint32_t kLocalSignature = 0x04034b50;                // "PK\3\4"
inline constexpr size_t kLocalFixedBytes = 4 + 5 * 2 + 3 * 4 + 2 * 2;  // signature, 5 u16, crc and sizes, 2 lengths
static_assert(kLocalFixedBytes == 30);

// 4.3.9 data descriptor, after the data; zip64 records have sizes of 8 bytes.
inline constexpr uint32_t kDescriptorSignature = 0x08074b50;  // "PK\7\10"
inline constexpr size_t kDescriptorBytes = 4 + 4 + 2 * 4;     // signature, crc, 2 sizes
inline constexpr size_t kDescriptor64Bytes = 4 + 4 + 2 * 8;
inline constexpr size_t kDescriptorCrcPos = 4;
static_assert(kDescriptorBytes == 16 && kDescriptor64Bytes == 24);

// 4.3.12 central directory entry, then name, extra field and comment.
inline constexpr uint32_t kCentralSignature = 0x02014b50;  // "PK\1\2"
// signature, 6 u16, crc and sizes, 3 lengths, disk and internal attributes, external attributes, header offset
inline constexpr size_t kCentralFixedBytes = 4 + 6 * 2 + 3 * 4 + 3 * 2 + 2 * 2 + 4 + 4;
inline constexpr size_t kCentralCrcPos = 4 + 6 * 2;
static_assert(kCentralFixedBytes == 46 && kCentralCrcPos == 16);

// 4.3.14 zip64 end of central directory record. Its own size field counts what follows that field.
inline constexpr uint32_t kEnd64Signature = 0x06064b50;  // "PK\6\6"
inline constexpr size_t kEnd64Bytes =
    4 + 8 + 2 * 2 + 2 * 4 + 2 * 8 + 2 * 8;  // .., versions, disks, counts, size and offset
inline constexpr size_t kEnd64UncountedBytes = 4 + 8;
static_assert(kEnd64Bytes == 56);

// 4.3.15 zip64 locator, directly before the end record.
inline constexpr uint32_t kLocatorSignature = 0x07064b50;  // "PK\6\7"
inline constexpr size_t kLocatorBytes = 4 + 4 + 8 + 4;     // signature, disk, zip64 end offset, disk count
static_assert(kLocatorBytes == 20);

// 4.3.16 end of central directory record, then a comment.
inline constexpr uint32_t kEndSignature = 0x06054b50;            // "PK\5\6"
inline constexpr size_t kEndFixedBytes = 4 + 4 * 2 + 2 * 4 + 2;  // signature, disks and counts, size and offset, length
inline constexpr size_t kMaxCommentBytes = 0xffff;
inline constexpr size_t kEndSearchBytes = kEndFixedBytes + kMaxCommentBytes;
static_assert(kEndFixedBytes == 22 && kEndSearchBytes == 65557);

// 4.4.4 general purpose flags.
inline constexpr uint16_t kFlagEncrypted = 1 << 0;
inline constexpr uint16_t kFlagDescriptor = 1 << 3;
inline constexpr uint16_t kFlagStrongEncryption = 1 << 6;
inline constexpr uint16_t kFlagUtf8 = 1 << 11;
inline constexpr uint16_t kFlagMaskedHeaders = 1 << 13;

// 4.4.5 compression methods.
inline constexpr uint16_t kStored = 0;
inline constexpr uint16_t kDeflated = 8;

// 4.5 extra fields: id, length of the rest, the rest.
inline constexpr size_t kExtraHeaderBytes = 2 + 2;
// 4.5.3: only those of size, compressed size, header offset (8 bytes each), in this order, whose place in
// the entry holds the sentinel.
inline constexpr uint16_t kZip64ExtraId = 0x0001;
inline constexpr uint16_t kSentinel16 = 0xffff;
inline constexpr uint32_t kSentinel32 = 0xffffffff;

// PyTorch's alignment padding: id "FB", then as many 'Z' as bring the data to a multiple of the alignment.
inline constexpr uint16_t kPaddingExtraId = 'F' | 'B' << 8;
inline constexpr char kPaddingByte = 'Z';

// What miniz, PyTorch's zip writer, puts into the zip64 end record; every other version field is 0.
inline constexpr uint16_t kMinizMadeBy = 0x031e;
inline constexpr uint16_t kMinizNeeded = 0x002d;  // 4.5

}  // namespace dcpctl::zip
