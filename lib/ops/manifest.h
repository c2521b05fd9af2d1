// What a checkpoint holds, in digests that depend neither on its format nor on its layout. See dcpctl-formats(5).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/sha256.h"
#include "dcpctl/box.h"
#include "dcpctl/catalog.h"
#include "dcpctl/convert.h"
#include "dcpctl/error.h"
#include "io/file_system.h"

namespace dcpctl::ops {

struct ManifestEntry {
  std::string key;
  bool is_tensor = false;
  std::string dtype = {};  // of a tensor, as are the next two
  Dims shape = {};
  uint64_t bytes = 0;
  // Of a tensor: of the line "DTYPE [SIZE, ...]\n" and its elements, row-major and little-endian. Of an object: see
  // pickle/canonical.h.
  Sha256Digest digest{};
};

struct ManifestFile {
  std::string path;  // relative to the checkpoint; empty when that is one file
  uint64_t bytes = 0;
  Sha256Digest digest{};

  friend bool operator==(const ManifestFile&, const ManifestFile&) = default;
};

struct Manifest {
  std::string format = {};                  // of the checkpoint that it was made from
  std::vector<ManifestEntry> entries = {};  // by key
  std::vector<ManifestFile> files = {};     // by path
};

// Digests of the selected entries, on several threads: a thread a tensor. Errors: those of OpenContent and ScanPlans.
Result<std::vector<ManifestEntry>> DigestEntries(io::FileSystem& files, const std::filesystem::path& path,
                                                 const Selection& selection, const RunOptions& options);

// Digests of the files that the catalog names, those that are missing aside.
Result<std::vector<ManifestFile>> DigestFiles(io::FileSystem& files, const Catalog& catalog, const RunOptions& options);

}  // namespace dcpctl::ops
