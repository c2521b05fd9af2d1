// Creating files under fresh names, and giving names without ever taking one away from somebody else.
#pragma once

#include <string>
#include <string_view>

#include "dcpctl/error.h"
#include "io/unique_fd.h"

namespace dcpctl::io {

// `.STEM.XXXXXX.tmp` with random letters; a long stem is cut.
std::string FreshName(std::string_view stem);

struct FreshFile {
  UniqueFd fd;
  std::string name;  // in the directory
};

// Creates `.STEM.XXXXXX.tmp` in `directory`, open for reading and writing. A long stem is cut. `place` names the file
// in errors.
Result<FreshFile> CreateFresh(const SystemCalls& calls, int directory, std::string_view stem, mode_t mode,
                              const std::string& place);

// A name as the *at calls take it.
struct Name {
  int directory;
  const std::string& name;
};

// rename: takes the place of a file `to`, or of an empty directory if `from` is one. `place` names the target.
Result<void> RenameOver(const SystemCalls& calls, Name from, Name to, const std::string& place);

// kExists when there is a `to`, which then stays as it is, whoever made it and when. Where the file system lacks a
// rename that refuses (NFS, some FUSE), a file is linked under its new name and a directory claims it with mkdir.
Result<void> RenameNew(const SystemCalls& calls, Name from, Name to, const std::string& place);

// Each takes the name of the other at once. False where the file system or the kernel cannot.
Result<bool> ExchangeNames(const SystemCalls& calls, Name a, Name b, const std::string& place);

}  // namespace dcpctl::io
