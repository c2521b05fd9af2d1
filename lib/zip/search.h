// Finds whole archives where nothing says that there are any: in the gaps of data files, and in files without
// metadata. Goes from the back, since only the end records of an archive say where it begins.
#pragma once

#include <cstdint>
#include <optional>

#include "base/byte_source.h"
#include "dcpctl/error.h"

namespace dcpctl::zip {

struct ArchiveRange {
  uint64_t begin = 0;  // absolute
  uint64_t end = 0;
};

// The archive without comment whose last byte is the last in [begin, end) that belongs to anything, zeros aside.
// Nothing when there is none, or it has no directory and local header where its end says. Reads headers and zeros.
Result<std::optional<ArchiveRange>> FindLastArchive(const ByteSource& source, uint64_t begin, uint64_t end);

// The archive without comment that begins with the first byte of [begin, end) that is not zero, and what is behind it
// does not matter: for files that were cut off. Reads all bytes up to its end; nothing when there is none.
Result<std::optional<ArchiveRange>> FindFirstArchive(const ByteSource& source, uint64_t begin, uint64_t end);

// Where the bytes that are not zero end in [begin, end); `begin` when all are.
Result<uint64_t> FindLastNonZero(const ByteSource& source, uint64_t begin, uint64_t end);

// The end record of an archive that other bytes follow, as appended junk does: the archive that ends last in the
// final `kMaxCommentBytes` bytes. Nothing when there is none.
Result<std::optional<ArchiveRange>> FindArchiveBeforeJunk(const ByteSource& source);

}  // namespace dcpctl::zip
