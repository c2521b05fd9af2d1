// The open files of MemoryFileSystem.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "io/file.h"
#include "io/sink.h"
#include "support/memory_tree.h"

namespace dcpctl::test {

// Absolute and without "." and "..".
std::filesystem::path Normal(const std::filesystem::path& path);
// Null when nothing is there. Call with the lock held.
std::shared_ptr<Node> FindNode(const MemoryState& state, const std::filesystem::path& path);
// Moves a name. kExists when `to` is taken and `replace` is false. Call with the lock held.
Result<void> MoveEntry(MemoryState& state, const std::shared_ptr<Node>& from_directory, const std::string& from,
                       const std::shared_ptr<Node>& to_directory, const std::string& to, bool replace,
                       const std::string& place);

// `name` is what messages call it.
std::unique_ptr<io::ReadFile> NewMemoryReadFile(std::shared_ptr<MemoryState> state, std::shared_ptr<Node> node,
                                                std::string name);
// `node` is in `directory` under `temp_name`.
std::unique_ptr<io::WriteFile> NewMemoryWriteFile(std::shared_ptr<MemoryState> state, std::shared_ptr<Node> directory,
                                                  std::shared_ptr<Node> node, std::string temp_name,
                                                  std::filesystem::path target);
std::unique_ptr<io::ScratchFile> NewMemoryScratchFile(std::shared_ptr<MemoryState> state, std::shared_ptr<Node> node);
std::unique_ptr<io::Sink> NewMemorySink(std::shared_ptr<MemoryState> state, std::shared_ptr<Node> node,
                                        std::string name);

}  // namespace dcpctl::test
