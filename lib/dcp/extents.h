// Where the bytes of each chunk lie: opens the archive that every record is, and reads the values of objects.
#pragma once

#include "dcpctl/catalog.h"
#include "dcpctl/survey.h"
#include "io/file_system.h"

namespace dcpctl::dcp {

// Fills Chunk::stored, the strides and Object::value of the wanted entries. What is wrong with a record is a
// finding; errors are kCancelled and kInternal. With SurveyDepth::kObjects: the values alone, if the wanted objects are
// few and small, and no findings.
Result<void> SurveyExtents(io::FileSystem& files, Catalog& catalog, const SurveyOptions& options);

// Whether records encoded by these descriptors can be read.
bool CanDecode(const std::vector<std::string>& transforms);

}  // namespace dcpctl::dcp
