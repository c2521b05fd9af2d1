// What is fuzzed. Each target takes any bytes, and ends the process when something is wrong that no input may cause:
// see Require. Built with libFuzzer by the preset `fuzz`; tests/fuzz/replay_test.cc runs the corpus in every build.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/byte_source.h"
#include "dcpctl/limits.h"

namespace dcpctl::fuzz {

using Bytes = std::span<const std::byte>;

void FuzzPickle(Bytes input);      // reading, printing, writing, digests
void FuzzZip(Bytes input);         // directory, records, deflate, archives in the middle of things
void FuzzMetadata(Bytes input);    // `.metadata`, or those of several ranks one after the other
void FuzzTorch(Bytes input);       // torch.save archives, or only their pickle
void FuzzLegacy(Bytes input);      // the stream form of torch.save
void FuzzZstd(Bytes input);        // compressed records
void FuzzLayout(Bytes input);      // dcpctl.layout/1
void FuzzManifest(Bytes input);    // dcpctl.manifest/1
void FuzzCheckpoint(Bytes input);  // whole checkpoints, made and damaged as the bytes say

struct Target {
  std::string_view name;  // of its corpus
  void (*run)(Bytes input);
};

inline constexpr std::array kTargets = {
    Target{"pickle", FuzzPickle}, Target{"zip", FuzzZip},           Target{"metadata", FuzzMetadata},
    Target{"torch", FuzzTorch},   Target{"legacy", FuzzLegacy},     Target{"zstd", FuzzZstd},
    Target{"layout", FuzzLayout}, Target{"manifest", FuzzManifest}, Target{"checkpoint", FuzzCheckpoint},
};

// So small that an input of a few KiB can come to them.
Limits SmallLimits();
// Named "input".
MemorySource SourceOf(Bytes input);
// Says what does not hold and aborts, unless it does.
void Require(bool holds, std::string_view what, const std::string& detail = {});

}  // namespace dcpctl::fuzz
