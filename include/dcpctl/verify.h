// Whether a checkpoint is whole and undamaged. All that is wrong is a finding with its place; only what cannot be
// looked at at all is an error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "dcpctl/catalog.h"
#include "dcpctl/convert.h"
#include "dcpctl/error.h"
#include "dcpctl/finding.h"

namespace dcpctl {

enum class VerifyLevel : uint8_t {
  kStructure,  // metadata and headers are read, and what lies between records
  kPayload,    // every byte that has a checksum, and the rest of what entries refer to
  kValues,     // and no tensor holds NaN or an infinity; needs the tensor plug-in
};
[[nodiscard]] std::string_view Name(VerifyLevel level);  // "structure", "payload", "values"

struct VerifyOptions {
  Selection selection = {};  // only `select` and `exclude`; what is said of other entries is left out
  VerifyLevel level = VerifyLevel::kStructure;
  bool strict = false;                        // warnings are failure
  std::filesystem::path against = {};         // another checkpoint that must hold the same; see compare.h
  std::filesystem::path check_manifest = {};  // a manifest that it must fit
  std::filesystem::path manifest = {};        // to be written, if there are no errors
  RunOptions run = {};  // of these `jobs`, `memory_bytes`, `plugins`, `force`, `stop`, `limits` and `observer`
  // How long to wait, when something is cut off or missing, before looking whether files still grow.
  unsigned settle_ms = 200;
};

struct VerifyTotals {
  uint64_t tensors = 0;
  uint64_t objects = 0;
  uint64_t chunks = 0;
  uint64_t bytes = 0;  // of tensors: elements x item size
  uint64_t files = 0;
  uint64_t file_bytes = 0;
  // Of the files that hold data; their sum is the size of these.
  uint64_t used_bytes = 0;
  uint64_t padding_bytes = 0;  // zeros that belong to no record
  uint64_t orphan_bytes = 0;   // nothing refers to them
  // kPayload: storages, each once however many entries share it.
  uint64_t checked_storages = 0;
  uint64_t checked_bytes = 0;      // read for them
  uint64_t unknown_checksums = 0;  // their writer computed none
  // kValues: tensors, and their elements.
  uint64_t scanned_tensors = 0;
  uint64_t scanned_elements = 0;
  uint64_t errors = 0;
  uint64_t warnings = 0;
  uint64_t notes = 0;
};

struct VerifyReport {
  std::filesystem::path path;
  Format format = Format::kDcp;
  VerifyLevel level = VerifyLevel::kStructure;
  bool ok = false;
  uint64_t ranks = 0;  // that wrote data files, told from their names
  VerifyTotals totals;
  Findings findings;  // errors first, then by id and place
};

// Errors: kNotFound, kIo, kUnsupported for what is no checkpoint, saying what it is; kNotFound for a pattern that
// matches nothing; kCancelled.
[[nodiscard]] Result<VerifyReport> Verify(const std::filesystem::path& path, const VerifyOptions& options = {});

}  // namespace dcpctl
