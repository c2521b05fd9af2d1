// Verify() of verify.h on a file system of the caller's choice.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "check/payload.h"
#include "dcpctl/verify.h"
#include "io/file_system.h"

namespace dcpctl::ops {

Result<VerifyReport> Verify(io::FileSystem& files, const std::filesystem::path& path, const VerifyOptions& options);

// What the checks of one kind of checkpoint fill in: the catalog, as far as there is one, with all findings in it, and
// the totals that only they know.
struct Verified {
  Catalog catalog;
  std::vector<bool> selected;  // by Catalog::entries
  VerifyTotals totals;
};

Result<Verified> VerifyDcp(io::FileSystem& files, const std::filesystem::path& path, const VerifyOptions& options);
Result<Verified> VerifyTorchZip(io::FileSystem& files, const std::filesystem::path& path, const VerifyOptions& options);
// Of a zip archive that has no directory that can be read.
Result<Verified> VerifyDamagedZip(io::FileSystem& files, const std::filesystem::path& path,
                                  const VerifyOptions& options);
Result<Verified> VerifyTorchLegacy(io::FileSystem& files, const std::filesystem::path& path,
                                   const VerifyOptions& options);
// Of data files without metadata.
Result<Verified> VerifyUnfinished(io::FileSystem& files, const std::filesystem::path& path,
                                  const VerifyOptions& options);

// Before anything is looked at: whether the manifest may be written where it is to be.
Result<void> CheckManifestTarget(io::FileSystem& files, const std::filesystem::path& path,
                                 const VerifyOptions& options);
// What of `options` is about other things than the checkpoint itself: `against`, `check_manifest`, and `manifest`,
// which is written unless there are errors.
Result<void> VerifyWith(io::FileSystem& files, const std::filesystem::path& path, const VerifyOptions& options,
                        const Catalog& catalog, Findings& findings);

// Entries that are selected; all when nothing is.
Result<std::vector<bool>> SelectedEntries(const Catalog& catalog, const Selection& selection);
// Reads what is selected, and `loose`, and counts it.
Result<void> VerifyPayloads(io::FileSystem& files, std::span<const check::LooseRecord> loose,
                            const VerifyOptions& options, Verified& verified);
// Looks for NaN and infinities in what is selected, where that was asked for.
Result<void> VerifyValues(io::FileSystem& files, const VerifyOptions& options, Verified& verified);
// The error of a survey as a finding, where it is about the input; otherwise the error again.
Result<Finding> ToFinding(const Error& error, const std::filesystem::path& root, Format format);

}  // namespace dcpctl::ops
