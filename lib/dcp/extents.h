// Where the bytes of each chunk lie: opens the archive that every record is, and reads the values of objects.
#pragma once

#include <functional>

#include "base/byte_source.h"
#include "dcpctl/catalog.h"
#include "dcpctl/survey.h"
#include "io/file_system.h"
#include "zip/read.h"

namespace dcpctl::dcp {

// For who checks a checkpoint while it is surveyed, so that no archive is opened twice.
struct RecordHooks {
  // Gets every archive that was opened, from several threads: the entry and file that it is of, and a source that it
  // lies in. That is the file, or with `decoded` what the record decodes to, of which the middle may not be there.
  std::function<void(EntryRef entry, uint32_t file, const ByteSource& source, const zip::Directory& directory,
                     bool decoded)>
      on_archive = {};
  // False: encoded records are only looked at from outside, for whole frames, and stay without extents.
  bool decode = true;
};

// Fills Chunk::stored, the strides and Object::value of the wanted entries. What is wrong with a record is a
// finding: dcp.record-damaged, dcp.record-differs (from what the metadata says of it), dcp.record-unsupported (valid,
// but not for this version) or dcp.refused-name. Errors are kMismatch (a file changed), kCancelled and kInternal.
// With `hooks` also the records of empty boxes are opened. With SurveyDepth::kObjects: the values alone, if the wanted
// objects are few and small, and no findings.
Result<void> SurveyExtents(io::FileSystem& files, Catalog& catalog, const SurveyOptions& options,
                           const RecordHooks& hooks = {});

// Whether records encoded by these descriptors can be read.
bool CanDecode(const std::vector<std::string>& transforms);

}  // namespace dcpctl::dcp
