// Opening a checkpoint: what kind of thing is at a path, and what is in it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "dcpctl/catalog.h"
#include "dcpctl/error.h"
#include "dcpctl/limits.h"
#include "dcpctl/observer.h"

namespace dcpctl {

enum class SurveyDepth : uint8_t {
  kMetadata,  // names, shapes, boxes: reads the metadata only
  kObjects,   // also the values of objects, without their storages, as far as they cost little; one that cannot be
              // read or that names an attack is no finding
  kExtents,   // also where each chunk's bytes lie, and the values of objects
};

// How a nested state dict becomes flat entries; PyTorch has changed it.
enum class Flattening : uint8_t {
  kWhole,        // not at all: the state is one object
  kNone,         // 1.13: the top-level values are the entries
  kWithTensors,  // 2.0 to 2.3: containers are taken apart when a tensor is somewhere in them
  kAlways,       // 2.4 and later: mappings always, lists when a tensor or mapping is in them
};

struct SurveyOptions {
  SurveyDepth depth = SurveyDepth::kExtents;
  unsigned jobs = 0;  // 0: one per core
  // Entries to survey in depth; all when empty. By Catalog::entries position, asked once the names are known.
  std::function<bool(std::string_view key)> wanted = {};
  std::vector<std::string> allow_globals = {};  // "module.name" that objects may mention though it looks like an attack
  Flattening flattening = Flattening::kAlways;  // of sources that are nested themselves: torch.save files
  Limits limits = {};
  std::stop_token stop = {};
  Observer* observer = nullptr;
};

// What a path holds, told from content. Kinds that cannot be surveyed say so in the error of Survey.
enum class SourceKind : uint8_t {
  kDcp,           // .metadata
  kDcpRankLocal,  // __R.metadata of a save without collectives
  kTorchZip,
  kTorchLegacy,
  kTorchTar,
  kTorchScript,
  kSafetensorsFile,
  kSafetensorsDir,    // incl. PyTorch's sharded safetensors
  kCheckpointParent,  // folder whose sub-folders are checkpoints
  kPerRankTorch,      // folder of one torch.save file per rank
  kDataFile,          // a lone .distcp
  kUnfinished,        // data files and no .metadata
  kEmptyDirectory,
  kOtherDirectory,
  kEmptyFile,
  kTruncatedZip,
  kForeignZip,
  kBarePickle,
  kGitLfsPointer,
  kHtml,
  kOtherFile,
};

struct Identity {
  SourceKind kind = SourceKind::kOtherFile;
  std::string description;  // "a torch.save file (zip)": completes "this is ..."
  std::string advice;       // what to do about it; may be empty
};

// Errors: kNotFound, kIo.
[[nodiscard]] Result<Identity> Identify(const std::filesystem::path& path);

// Damage of an entry is a finding of severity kError with its key; the entry stays in the catalog, without
// extents. Errors are for what keeps the survey from being made at all: those of Identify; kUnsupported for
// kinds that are no checkpoint, saying what they are; kCorrupt and kLimit with their place; kCancelled.
[[nodiscard]] Result<Catalog> Survey(const std::filesystem::path& source, const SurveyOptions& options = {});

}  // namespace dcpctl
