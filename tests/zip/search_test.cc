#include "zip/search.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/result.h"
#include "zip/layout.h"
#include "zip/make_layout.h"
#include "zip/raw_zip.h"

namespace dcpctl::zip {
namespace {

using test::Value;

// As PyTorch writes it: with zip64 end records.
std::string TorchArchive(const std::string& data) {
  std::string bytes;
  const ArchiveLayout layout = Value(MakeArchiveLayout({{.name = "archive/data.pkl", .content = data}}));
  for (const Literal& literal : layout.literals) bytes += literal.bytes;
  EXPECT_EQ(bytes.size(), layout.total_bytes);
  return bytes;
}

std::string PlainArchive() { return MakeZip({{.name = "archive/data.pkl", .data = "abc"}}); }

std::vector<std::pair<uint64_t, uint64_t>> FindAll(const std::string& bytes, uint64_t begin = 0) {
  const MemorySource source = AsSource(bytes);
  std::vector<std::pair<uint64_t, uint64_t>> found;
  for (uint64_t end = bytes.size();;) {
    const auto archive = Value(FindLastArchive(source, begin, end));
    if (!archive) return found;
    found.emplace_back(archive->begin, archive->end);
    end = archive->begin;
  }
}

using Ranges = std::vector<std::pair<uint64_t, uint64_t>>;

TEST(ZipSearch, FindsArchivesFromTheBack) {
  for (const std::string& one : {PlainArchive(), TorchArchive("a"), TorchArchive(std::string(5000, 'x'))}) {
    const uint64_t n = one.size();
    EXPECT_EQ(FindAll(one), (Ranges{{0, n}}));
    EXPECT_EQ(FindAll(one + one), (Ranges{{n, 2 * n}, {0, n}}));
    for (const size_t zeros : {size_t{1}, size_t{21}, size_t{22}, size_t{600}, size_t{300'000}}) {
      const std::string gap(zeros, '\0');
      EXPECT_EQ(FindAll(gap + one + gap + one + gap), (Ranges{{n + 2 * zeros, 2 * (n + zeros)}, {zeros, zeros + n}}));
    }
    EXPECT_EQ(FindAll("xyz" + one), (Ranges{{3, n + 3}}));
    EXPECT_EQ(FindAll("xyz" + one, 3), (Ranges{{3, n + 3}}));
  }
}

TEST(ZipSearch, FindsNothingWhereNoneEnds) {
  const std::string one = TorchArchive("a");
  EXPECT_EQ(FindAll(""), Ranges());
  EXPECT_EQ(FindAll(std::string(100, '\0')), Ranges());
  EXPECT_EQ(FindAll(one + "x"), Ranges());
  EXPECT_EQ(FindAll(one.substr(0, one.size() - 23)), Ranges());
  EXPECT_EQ(FindAll(one.substr(1)), Ranges());  // the first local header is cut
  EXPECT_EQ(FindAll(one, 1), Ranges());
  EXPECT_EQ(FindAll(MakeZip({})), Ranges());
}

TEST(ZipSearch, FindsArchivesFromTheFront) {
  const std::string one = TorchArchive(std::string(300'000, 'P'));
  const std::string two = PlainArchive();
  const std::string gap(70, '\0');
  const std::string bytes = gap + one + two + gap + one.substr(0, 1000);
  const MemorySource source = AsSource(bytes);
  const auto first = Value(FindFirstArchive(source, 0, bytes.size()));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->begin, gap.size());
  EXPECT_EQ(first->end, gap.size() + one.size());
  const auto second = Value(FindFirstArchive(source, first->end, bytes.size()));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->end - second->begin, two.size());
  EXPECT_FALSE(Value(FindFirstArchive(source, second->end, bytes.size())));
  EXPECT_FALSE(Value(FindFirstArchive(source, 0, first->end - 1)));
  EXPECT_FALSE(Value(FindFirstArchive(AsSource("xyz" + two), 0, two.size() + 3)));
  EXPECT_FALSE(Value(FindFirstArchive(AsSource(gap), 0, gap.size())));
}

TEST(ZipSearch, FindsTheArchiveBeforeJunk) {
  const std::string one = TorchArchive("abc");
  const MemorySource junk = AsSource(one + std::string(1000, 'j'));
  const auto found = Value(FindArchiveBeforeJunk(junk));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->begin, 0U);
  EXPECT_EQ(found->end, one.size());
  EXPECT_FALSE(Value(FindArchiveBeforeJunk(AsSource(std::string(1000, 'j')))));
}

TEST(ZipSearch, FindsTheLastByteThatIsNotZero) {
  const std::string bytes = std::string(700, '\0') + "x" + std::string(3000, '\0');
  const MemorySource source = AsSource(bytes);
  EXPECT_EQ(Value(FindLastNonZero(source, 0, bytes.size())), 701U);
  EXPECT_EQ(Value(FindLastNonZero(source, 0, 701)), 701U);
  EXPECT_EQ(Value(FindLastNonZero(source, 701, bytes.size())), 701U);
  EXPECT_EQ(Value(FindLastNonZero(source, 5, 700)), 5U);
}

}  // namespace
}  // namespace dcpctl::zip
