// Everything that writes, with sources that cannot be read or change meanwhile: it is done, on what the sources were
// at one time, or fails with the name of the file and nothing left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "support/result.h"
#include "tests/ops/writers.h"

namespace dcpctl::ops {
namespace {

using test::MemoryFileSystem;
using test::Value;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SourceFaults : public testing::TestWithParam<Writer> {
 protected:
  void SetUp() override {
    const auto files = NewFiles(GetParam(), sources_, false);
    Value(Run(*files));
    calls_ = files->calls();
    complete_ = TreeOf(*files, kWritten);
  }
  static Result<void> Run(MemoryFileSystem& files) { return GetParam().run(files, false); }

  static void ExpectNothing(MemoryFileSystem& files) {
    EXPECT_THAT(TreeOf(files, kWritten), IsEmpty());
    EXPECT_THAT(LeftOver(files), IsEmpty());
  }

  const Tree sources_ = MakeSources(0);
  Tree complete_;
  std::vector<std::string> calls_;
};

TEST_P(SourceFaults, EveryFailedCallLeavesNothing) {  // R10
  for (const int code : {EIO, ENOSPC, EACCES}) {
    for (size_t call = 0; call < calls_.size(); ++call) {
      const auto files = NewFiles(GetParam(), sources_, false);
      files->SetFaults({.fail_call = call, .fail_errno = code});
      const auto result = Run(*files);
      SCOPED_TRACE("call " + std::to_string(call) + ": " + calls_[call] + ", error " + std::to_string(code));
      files->SetFaults({});
      if (result) {
        EXPECT_EQ(TreeOf(*files, kWritten), complete_);
      } else if (calls_[call] == "sync directory /out" || calls_[call] == "sync directory /out/new") {
        EXPECT_EQ(TreeOf(*files, kWritten), complete_) << "it has its name already";
      } else {
        EXPECT_FALSE(result.error().place().file.empty()) << result.error().ToString();
        ExpectNothing(*files);
      }
    }
  }
}

// Of each byte of a source: whoever reads it says so, with the file and where in it.
TEST_P(SourceFaults, EveryByteThatCannotBeReadIsNamed) {
  size_t longest = 0;
  for (const std::string& path : GetParam().reads) longest = std::max(longest, sources_.at(path).size());
  size_t failed = 0;
  for (size_t offset = 0; offset < longest; offset += 61) {
    const auto files = NewFiles(GetParam(), sources_, false);
    files->SetFaults({.read_error_at = offset});
    const auto result = Run(*files);
    SCOPED_TRACE(offset);
    if (result) {
      EXPECT_EQ(TreeOf(*files, kWritten), complete_);
      continue;
    }
    ++failed;
    EXPECT_THAT(result.error().ToString(), HasSubstr("cannot read: Input/output error"));
    EXPECT_TRUE(sources_.contains(result.error().place().file)) << result.error().ToString();
    EXPECT_EQ(result.error().place().offset, offset);
    ExpectNothing(*files);
  }
  EXPECT_GT(failed, 0U);
}

// What another process may do to a source.
struct Change {
  const char* name;
  // The contents it has from then on; nothing: it is removed.
  std::function<std::optional<std::string>(const std::string& now, const std::string& other)> make;
  bool replaces = false;  // by another file
};

const std::vector<Change>& Changes() {
  static const std::vector<Change> kChanges = {
      {"is touched", [](const std::string& now, const std::string&) { return now; }},
      {"shrinks by a byte", [](const std::string& now, const std::string&) { return now.substr(0, now.size() - 1); }},
      {"shrinks to half", [](const std::string& now, const std::string&) { return now.substr(0, now.size() / 2); }},
      {"becomes empty", [](const std::string&, const std::string&) { return std::string(); }},
      {"grows", [](const std::string& now, const std::string&) { return now + std::string(100, 'x'); }},
      {"gets other values", [](const std::string&, const std::string& other) { return other; }},
      {"is replaced", [](const std::string&, const std::string& other) { return other; }, true},
  };
  return kChanges;
}

class ChangingSource : public SourceFaults {
 protected:
  void Apply(MemoryFileSystem& files, const std::string& path, const Change& change) const {
    const auto contents = change.make(sources_.at(path), others_.at(path));
    if (change.replaces) {
      files.Put(path, *contents);
    } else {
      files.Overwrite(path, *contents);
    }
  }

  // What it makes of a source that was changed before.
  std::optional<Tree> ResultOfChanged(const std::string& path, const Change& change) const {
    const auto files = NewFiles(GetParam(), sources_, false);
    Apply(*files, path, change);
    if (!Run(*files)) return std::nullopt;
    return TreeOf(*files, kWritten);
  }

  void ChangeAtEachCall(const std::string& path, const Change& change) const {
    const auto changed = ResultOfChanged(path, change);
    for (size_t call = 0; call < calls_.size(); ++call) {
      const auto files = NewFiles(GetParam(), sources_, false);
      files->SetFaults({.on_call = [&](uint64_t now, std::string_view) {
        if (now == call) Apply(*files, path, change);
      }});
      const auto result = Run(*files);
      SCOPED_TRACE(path + " " + change.name + " before call " + std::to_string(call) + ": " + calls_[call]);
      if (!result) {
        EXPECT_EQ(result.error().place().file, path) << result.error().ToString();
        ExpectNothing(*files);
        continue;
      }
      const Tree made = TreeOf(*files, kWritten);
      // A second name for a file shows what the file is now.
      if (std::string(GetParam().name) != "Link") {
        EXPECT_TRUE(made == complete_ || made == changed) << made.size() << " files, neither of the old nor of the new";
      }
    }
  }

  const Tree others_ = MakeSources(5000);
};

TEST_P(ChangingSource, IsTakenAsItWasOrRefused) {
  for (const std::string& path : GetParam().reads) {
    for (const Change& change : Changes()) ChangeAtEachCall(path, change);
  }
}

// Checksums find most changes, but not all files have them: a new time is reason enough.
TEST_P(ChangingSource, IsRefusedForItsTimeAlone) {
  const Change& touch = Changes().front();
  for (const std::string& path : GetParam().reads) {
    size_t refused = 0;
    for (size_t call = 0; call < calls_.size(); ++call) {
      const auto files = NewFiles(GetParam(), sources_, false);
      files->SetFaults({.on_call = [&](uint64_t now, std::string_view) {
        if (now == call) Apply(*files, path, touch);
      }});
      const auto result = Run(*files);
      if (!result && result.error().Text().find("changed") != std::string::npos) ++refused;
    }
    EXPECT_GT(refused, 0U) << path;
  }
}

std::string NameOf(const testing::TestParamInfo<Writer>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(All, SourceFaults, testing::ValuesIn(Writers()), NameOf);
INSTANTIATE_TEST_SUITE_P(All, ChangingSource, testing::ValuesIn(Writers()), NameOf);

}  // namespace
}  // namespace dcpctl::ops
