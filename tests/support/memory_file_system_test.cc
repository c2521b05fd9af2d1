#include "support/memory_file_system.h"

#include <gtest/gtest.h>

#include "support/result.h"

namespace dcpctl::test {
namespace {

using io::FileType;
using Paths = std::vector<std::string>;

Result<void> WriteOut(io::FileSystem& files, std::string_view text, bool replace = false) {
  auto file = files.CreateTemp("/out/f");
  if (!file) return Fail(std::move(file).error());
  if (auto done = (*file)->WriteAt(0, BytesOf(text)); !done) return done;
  return (*file)->Commit(replace);
}

TEST(MemoryFileSystem, ReadsWhatWasPut) {
  MemoryFileSystem files;
  files.Put("/a/b", "data");
  const auto file = Value(files.OpenRead("/a/b"));
  EXPECT_EQ(ReadAll(*file), "data");
  EXPECT_EQ(ReadAll(*Value(files.OpenBeneath("/a", "b"))), "data");
  EXPECT_EQ(Value(files.Stat("/a/b")).bytes, 4u);
  EXPECT_EQ(Value(files.Stat("/a")).type, FileType::kDirectory);
  EXPECT_EQ(ErrorOf(files.OpenRead("/a/c")).kind(), ErrorKind::kNotFound);
  EXPECT_EQ(ErrorOf(files.OpenRead("/a")).kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(ErrorOf(files.OpenBeneath("/a", "../a/b")).kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(ErrorOf(ReadRange(*file, 2, 3)).kind(), ErrorKind::kCorrupt);
}

TEST(MemoryFileSystem, ListsLikeADirectory) {
  MemoryFileSystem files;
  files.Put("/d/b/x", "");
  files.Put("/d/a", "");
  files.PutSpecial("/d/fifo", FileType::kFifo);
  using Entries = std::vector<io::DirectoryEntry>;
  EXPECT_EQ(Value(files.ListDirectory("/d", {})),
            (Entries{{"a", FileType::kRegular}, {"b", FileType::kDirectory}, {"fifo", FileType::kFifo}}));
  EXPECT_EQ(Value(files.ListDirectory("/d", {.recursive = true})).size(), 4u);
  EXPECT_EQ(ErrorOf(files.ListDirectory("/d", {.limit = 2})).kind(), ErrorKind::kLimit);
  EXPECT_EQ(ErrorOf(files.ListDirectory("/d/a", {})).kind(), ErrorKind::kNotFound);
}

TEST(MemoryFileSystem, PublishesOnCommitOnly) {
  MemoryFileSystem files;
  files.PutDirectory("/out");
  {
    const auto file = Value(files.CreateTemp("/out/f"));
    Value(file->Allocate(6));
    Value(file->WriteAt(3, BytesOf("abc")));
    EXPECT_EQ(files.Paths(), Paths{file->temp_path().string()});
    Value(file->Commit(false));
    EXPECT_EQ(ErrorOf(file->Commit(false)).kind(), ErrorKind::kInternal);
  }
  EXPECT_EQ(files.Contents("/out/f"), std::string("\0\0\0abc", 6));
  { const auto dropped = Value(files.CreateTemp("/out/g")); }
  EXPECT_EQ(files.Paths(), Paths{"/out/f"});
  EXPECT_EQ(ErrorOf(WriteOut(files, "new")).kind(), ErrorKind::kExists);
  Value(WriteOut(files, "new", true));
  EXPECT_EQ(files.Contents("/out/f"), "new");
  EXPECT_EQ(ErrorOf(files.CreateTemp("/none/f")).kind(), ErrorKind::kNotFound);
}

TEST(MemoryFileSystem, NoticesChangesOfSources) {
  MemoryFileSystem files;
  files.Put("/a", "data");
  const auto file = Value(files.OpenRead("/a"));
  EXPECT_TRUE(file->CheckUnchanged());
  files.Overwrite("/a", "atad");
  EXPECT_EQ(ErrorOf(file->CheckUnchanged()).kind(), ErrorKind::kMismatch);
  files.Overwrite("/a", "d");
  EXPECT_NE(ErrorOf(ReadRange(*file, 0, 4)).message().find("shrank"), std::string::npos);
  const auto again = Value(files.OpenRead("/a"));
  files.Put("/a", "d");
  EXPECT_NE(ErrorOf(again->CheckUnchanged()).message().find("replaced"), std::string::npos);
}

TEST(MemoryFileSystem, FailsReadsAndWritesAtAnOffset) {
  MemoryFileSystem files;
  files.Put("/a", "0123456789");
  files.PutDirectory("/out");
  files.SetFaults({.read_error_at = 5, .write_error_at = 2});
  const auto file = Value(files.OpenRead("/a"));
  EXPECT_TRUE(ReadRange(*file, 0, 5));
  EXPECT_TRUE(ReadRange(*file, 6, 4));
  EXPECT_EQ(ErrorOf(ReadRange(*file, 5, 1)).place().offset, 5u);
  const auto out = Value(files.CreateTemp("/out/f"));
  EXPECT_EQ(ErrorOf(out->WriteAt(1, BytesOf("abc"))).message(), "cannot write: Input/output error");
  EXPECT_EQ(files.Contents(out->temp_path()), std::string("\0a", 2));
  EXPECT_TRUE(out->WriteAt(3, BytesOf("abc")));
}

TEST(MemoryFileSystem, RunsOutOfSpace) {
  MemoryFileSystem files;
  files.Put("/a", "0123456789");
  files.SetFaults({.space = 15});
  EXPECT_EQ(Value(files.FreeBytes("/")), 5u);
  const auto out = Value(files.CreateTemp("/f"));
  EXPECT_EQ(ErrorOf(out->Allocate(6)).message(), "no space: needs 6 bytes");
  EXPECT_EQ(ErrorOf(out->WriteAt(0, BytesOf("abcdefg"))).place().offset, 5u);
  EXPECT_EQ(files.Contents(out->temp_path()), "abcde");
  const auto scratch = Value(files.OpenScratch("/"));
  EXPECT_FALSE(scratch->WriteAt(0, BytesOf("x")));
}

TEST(MemoryFileSystem, CrashLosesWhatWasNotSynced) {
  MemoryFileSystem files;
  files.PutDirectory("/out");
  Value(WriteOut(files, "kept"));
  Value(files.MakeDirectory("/lost"));
  const auto temp = Value(files.CreateTemp("/out/g"));
  Value(files.Rename("/out/f", "/out/renamed", false));
  files.Crash();
  EXPECT_EQ(files.Paths(), Paths{"/out/f"});
  EXPECT_EQ(files.Contents("/out/f"), "kept");
  EXPECT_EQ(ErrorOf(files.Stat("/lost")).kind(), ErrorKind::kNotFound);
  Value(files.MakeDirectory("/found"));
  Value(files.SyncDirectory("/"));
  files.Crash();
  EXPECT_TRUE(files.Stat("/found"));
}

TEST(MemoryFileSystem, CrashWithASeedKeepsSome) {
  unsigned kept = 0;
  for (uint32_t seed = 0; seed < 100; ++seed) {
    MemoryFileSystem files;
    files.PutDirectory("/d");
    Value(files.MakeDirectory("/d/e"));
    files.Crash(seed);
    kept += files.Stat("/d/e") ? 1 : 0;
  }
  EXPECT_GT(kept, 20u);
  EXPECT_LT(kept, 80u);
}

TEST(MemoryFileSystem, EveryFailureAndDeathLeavesOldOrNew) {
  unsigned calls = 0;
  for (bool done = false; !done; ++calls) {
    for (const bool dies : {false, true}) {
      MemoryFileSystem files;
      files.Put("/out/f", "old");
      files.SetFaults(dies ? MemoryFaults{.stop_call = calls} : MemoryFaults{.fail_call = calls});
      const auto written = WriteOut(files, "new", true);
      done = written.has_value();
      if (!dies) {
        EXPECT_EQ(files.Paths(), Paths{"/out/f"});
      }
      files.Crash(calls);
      const auto found = files.Contents("/out/f");
      EXPECT_TRUE(found == "old" || found == "new") << found.value_or("nothing");
      if (done) {
        EXPECT_EQ(found, "new");
      }
    }
  }
  EXPECT_EQ(calls, 6u) << "create, write, sync, rename, sync directory, and none failing";
}

TEST(MemoryFileSystem, DeathLeavesTheTemporaryFile) {
  MemoryFileSystem files;
  files.PutDirectory("/out");
  files.SetFaults({.stop_call = 1});
  EXPECT_FALSE(WriteOut(files, "new"));
  ASSERT_EQ(files.Paths().size(), 1u);
  EXPECT_EQ(files.Contents(files.Paths()[0]), "");
  EXPECT_FALSE(files.Stat("/out")) << "dead for good";
}

TEST(MemoryFileSystem, HookMayChangeTheTree) {
  MemoryFileSystem files;
  files.Put("/a", "data");
  const auto file = Value(files.OpenRead("/a"));
  files.SetFaults({.on_call = [&](uint64_t call, std::string_view what) {
    EXPECT_EQ(what, call == 0 ? "read /a" : "check /a");
    if (call == 1) files.Put("/a", "other");
  }});
  EXPECT_TRUE(ReadRange(*file, 0, 4));
  EXPECT_FALSE(file->CheckUnchanged());
  EXPECT_EQ(files.calls(), (std::vector<std::string>{"read /a", "check /a"}));
}

TEST(MemoryFileSystem, ClonesOnlyWhenTold) {
  MemoryFileSystem files;
  files.Put("/a", "0123456789");
  const auto source = Value(files.OpenRead("/a"));
  const auto out = Value(files.CreateTemp("/f"));
  EXPECT_FALSE(Value(out->CloneRange(*source, 2, 0, 3)));
  files.SetFaults({.can_clone = true});
  EXPECT_TRUE(Value(out->CloneRange(*source, 2, 0, 3)));
  EXPECT_EQ(files.Contents(out->temp_path()), "234");
}

TEST(MemoryFileSystem, StreamsAndScratchFiles) {
  MemoryFileSystem files;
  files.PutSpecial("/dev/tape", FileType::kCharDevice);
  const auto sink = Value(files.OpenStream("/dev/tape"));
  Value(sink->Write(BytesOf("ab")));
  Value(sink->Write(BytesOf("c")));
  Value(sink->Finish());
  EXPECT_EQ(files.Contents("/dev/tape"), "abc");
  const auto scratch = Value(files.OpenScratch("/"));
  Value(scratch->WriteAt(1, BytesOf("x")));
  EXPECT_EQ(ReadAll(*scratch), std::string("\0x", 2));
  EXPECT_EQ(files.Paths(), Paths{"/dev/tape"});
}

TEST(MemoryFileSystem, RenamesAndRemoves) {
  MemoryFileSystem files;
  files.Put("/d/a", "1");
  files.Put("/e/b", "2");
  EXPECT_EQ(ErrorOf(files.Rename("/d", "/e", false)).kind(), ErrorKind::kExists);
  EXPECT_EQ(ErrorOf(files.Rename("/d", "/e", true)).kind(), ErrorKind::kIo) << "not empty";
  EXPECT_EQ(ErrorOf(files.RemoveDirectory("/d")).kind(), ErrorKind::kIo);
  Value(files.Rename("/d", "/f", false));
  EXPECT_EQ(files.Paths(), (Paths{"/e/b", "/f/a"}));
  Value(files.RemoveFile("/f/a"));
  Value(files.RemoveDirectory("/f"));
  EXPECT_FALSE(Value(files.MakeDirectory("/e")));
  EXPECT_EQ(ErrorOf(files.MakeDirectory("/e/b")).kind(), ErrorKind::kExists);
  EXPECT_EQ(ErrorOf(files.RemoveFile("/f/a")).kind(), ErrorKind::kNotFound);
}

}  // namespace
}  // namespace dcpctl::test
