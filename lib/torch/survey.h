// What a torch.save file contains, as a Catalog: its state dict taken apart as DCP would, tensors with the place
// of their elements, and everything else as objects.
#pragma once

#include "base/byte_source.h"
#include "dcpctl/catalog.h"
#include "dcpctl/error.h"
#include "dcpctl/survey.h"

namespace dcpctl::torch {

// The catalog has one file, `source`; its root and modification time are left to the caller. Findings with
// the key of an entry: torch.not-a-plain-tensor (a warning: sparse, quantized, conjugated, a subclass; it
// becomes an object), torch.uncertain-key (a warning, of the first such key), torch.damaged-entry and
// torch.unsupported-entry (errors: the entry stays, without extents or value) and torch.key-collision (an error: only
// the first of two entries stays). The observer is not used. Errors: those of OpenArchive or OpenLegacy; kLimit of
// Flatten; kIo; kCancelled.
Result<Catalog> SurveyTorchZip(const ByteSource& source, const SurveyOptions& options);
// The same of the stream form. Findings without a key: torch.truncated (an error: the last storages are not there
// or in part) and torch.trailing-bytes (a warning: something follows that is not read).
Result<Catalog> SurveyTorchLegacy(const ByteSource& source, const SurveyOptions& options);

}  // namespace dcpctl::torch
