#include "torch/archive.h"

#include <gtest/gtest.h>

#include <string>

#include "base/crc32.h"
#include "base/window_source.h"
#include "tests/support/result.h"
#include "tests/torch/real_files.h"
#include "tests/torch/sample_archive.h"
#include "tests/zip/raw_zip.h"
#include "zip/format.h"

namespace dcpctl::torch {
namespace {

using test::ErrorOf;
using test::Value;
using zip::AsSource;
using zip::MakeZip;
using zip::RawRecord;

// PROTO 2, NONE, STOP.
const std::string kNone = "\x80\x02N.";
// The same as raw deflate: one stored block, last, of 4 bytes.
const std::string kNoneDeflated = std::string("\x01\x04\x00\xfb\xff", 5) + kNone;

Result<Archive> Open(const std::string& bytes) {
  const MemorySource source = AsSource(bytes);
  return OpenArchive(source, 0, bytes.size(), Limits{});
}

void ExpectRefused(const std::vector<RawRecord>& records, ErrorKind kind, const std::string& part) {
  const Error error = ErrorOf(Open(MakeZip(records)));
  EXPECT_EQ(error.kind(), kind) << error.ToString();
  EXPECT_NE(error.ToString().find(part), std::string::npos) << error.ToString();
}

TEST(TorchArchive, OpensRealFiles) {
  for (const RealFile& file : RealFiles()) {
    const MemorySource source = AsSource(file.bytes);
    const Archive archive = Value(OpenArchive(source, 0, source.size(), Limits{}));
    EXPECT_EQ(archive.prefix, file.path.stem().string() + "/");
    EXPECT_EQ(archive.version, 3U);
    EXPECT_FALSE(archive.big_endian);
    EXPECT_EQ(archive.file, "test.zip");
  }
}

TEST(TorchArchive, NeedsNoRecordButPickle) {
  const Archive archive = Value(Open(MakeZip({{.name = "my.model/data.pkl", .data = kNone}})));
  EXPECT_EQ(archive.prefix, "my.model/");
  EXPECT_FALSE(archive.version);
  EXPECT_TRUE(archive.document.root().Is(pickle::Kind::kNone));
}

TEST(TorchArchive, IgnoresRecordsOfOtherFolders) {
  const Archive archive = Value(Open(MakeZip({{.name = "a/data.pkl", .data = kNone},
                                              {.name = "b/byteorder", .data = "big"},
                                              {.name = "byteorder", .data = "big"}})));
  EXPECT_FALSE(archive.big_endian);
}

TEST(TorchArchive, ReadsByteOrder) {
  const auto with = [](const std::string& word) {
    return MakeZip({{.name = "a/data.pkl", .data = kNone}, {.name = "a/byteorder", .data = word}});
  };
  EXPECT_TRUE(Value(Open(with("big"))).big_endian);
  EXPECT_FALSE(Value(Open(with("little"))).big_endian);
  EXPECT_FALSE(Value(Open(with("little\n"))).big_endian);
  EXPECT_EQ(ErrorOf(Open(with("middle"))).kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(ErrorOf(Open(with(std::string(100, 'b')))).kind(), ErrorKind::kLimit);
}

TEST(TorchArchive, ReadsVersion) {
  const auto with = [](const std::string& word, const std::string& name = "a/version") {
    return MakeZip({{.name = "a/data.pkl", .data = kNone}, {.name = name, .data = word}});
  };
  EXPECT_EQ(Value(Open(with("1\n"))).version, 1U);
  EXPECT_EQ(Value(Open(with("10"))).version, 10U);
  EXPECT_EQ(Value(Open(with("6\n", "a/.data/version"))).version, 6U);
  EXPECT_EQ(ErrorOf(Open(with("0"))).kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(ErrorOf(Open(with("11\n"))).message(), "version of the archive is \"11\", expected 1 to 10");
  for (const char* word : {"", "x", "3x", "-3", "99999999999999999999"}) {
    EXPECT_EQ(ErrorOf(Open(with(word))).kind(), ErrorKind::kCorrupt) << word;
  }
  EXPECT_EQ(Value(Open(MakeZip({{.name = "a/data.pkl", .data = kNone},
                                {.name = "a/version", .data = "3"},
                                {.name = "a/.data/version", .data = "4"}})))
                .version,
            4U);
}

TEST(TorchArchive, NamesWhatIsNoTorchSave) {
  ExpectRefused({}, ErrorKind::kCorrupt, "zip archive is empty");
  ExpectRefused({{.name = "data.pkl", .data = kNone}}, ErrorKind::kCorrupt, "\"data.pkl\" is in no folder");
  ExpectRefused({{.name = "a/data"}}, ErrorKind::kCorrupt, "no record \"a/data.pkl\": torch.save didn't write this");
  ExpectRefused({{.name = "a/data.pkl", .data = kNone}, {.name = "a/constants.pkl"}}, ErrorKind::kUnsupported,
                "this is a TorchScript archive");
}

TEST(TorchArchive, ReadsDeflatedPickle) {
  const RawRecord record{.name = "a/data.pkl",
                         .data = kNoneDeflated,
                         .method = 8,
                         .crc = Crc32(test::BytesOf(kNone)),
                         .bytes = static_cast<uint32_t>(kNone.size())};
  EXPECT_TRUE(Value(Open(MakeZip({record}))).document.root().Is(pickle::Kind::kNone));
}

TEST(TorchArchive, PlacesPickleErrorsInTheWholeFile) {
  const std::string inner = MakeZip({{.name = "a/data.pkl", .data = std::string("\x80\x02\xff.")}});
  const MemorySource source = AsSource("0123456789" + inner);
  const Error error = ErrorOf(OpenArchive(source, 10, inner.size(), Limits{}));
  EXPECT_EQ(error.place().offset, 10U + 30 + 10 + 2) << error.ToString();
  EXPECT_NE(error.Text().find("in record \"a/data.pkl\""), std::string::npos) << error.ToString();
}

TEST(TorchArchive, KeepsToPickleLimit) {
  const MemorySource source = AsSource(MakeZip({{.name = "a/data.pkl", .data = kNone}}));
  EXPECT_EQ(ErrorOf(OpenArchive(source, 0, source.size(), {.pickle_bytes = 3})).kind(), ErrorKind::kLimit);
}

class CountingSource final : public ByteSource {
 public:
  explicit CountingSource(const ByteSource& inner) : inner_(inner) {}
  Result<void> ReadAt(uint64_t offset, std::span<std::byte> out) const override {
    ++reads;
    return inner_.ReadAt(offset, out);
  }
  [[nodiscard]] uint64_t size() const override { return inner_.size(); }
  [[nodiscard]] const std::string& name() const override { return inner_.name(); }

  mutable int reads = 0;

 private:
  const ByteSource& inner_;
};

TEST(TorchArchive, TakesLessOfACompressedPickle) {
  const auto most = [](uint16_t method, uint64_t compressed) {
    zip::Entry entry;
    entry.method = method;
    entry.compressed_bytes = compressed;
    return MostPickleBytes(entry, Limits{});
  };
  const uint64_t all = Limits{}.pickle_bytes;
  const uint64_t few = Limits{}.compressed_pickle_bytes;
  EXPECT_EQ(most(zip::kStored, 10), all);
  EXPECT_EQ(most(zip::kDeflated, 10), few);
  EXPECT_EQ(most(zip::kDeflated, few / 16), few);
  EXPECT_EQ(most(zip::kDeflated, few), 16 * few);
  EXPECT_EQ(most(zip::kDeflated, all), all);
  EXPECT_EQ(most(zip::kDeflated, UINT64_MAX), all);
}

TEST(TorchArchive, OpensOneTensorInTwoReads) {
  pickle::Document document;
  const SampleTensor sample{.items = 100000, .shape = {100000}, .strides = {1}};
  const MemorySource file = AsSource(SaveTorch(MakeSample(document, sample), {std::string(400000, 'd')}));
  const CountingSource counted(file);
  const WindowSource window = Value(WindowSource::Read(counted, 0, file.size()));
  const Archive archive = Value(OpenArchive(window, 0, file.size(), Limits{}));
  EXPECT_EQ(Value(LocateStorage(ArchiveStorages(window, archive), "0", 400000)).bytes, 400000U);
  EXPECT_EQ(counted.reads, 2);
}

TEST(TorchArchive, FindsStorages) {
  const std::string inner = MakeZip({{.name = "a/data.pkl", .data = kNone},
                                     {.name = "a/data/0", .data = "four"},
                                     {.name = "a/data/1", .data = kNoneDeflated, .method = 8, .crc = 5, .bytes = 4},
                                     {.name = "a/data/2", .data = "four", .crc = 0},
                                     {.name = "a/data/3", .data = ""},
                                     {.name = "a/data/4", .data = "four", .method = 93},
                                     {.name = "a/data/5", .data = "four", .bytes = 5}});
  const MemorySource source = AsSource("0123456789" + inner);
  const Archive archive = Value(OpenArchive(source, 10, inner.size(), Limits{}));
  const Record stored = Value(FindStorage(source, archive, "0"));
  EXPECT_EQ(test::TextOf(Value(ReadRange(source, stored.offset, stored.bytes))), "four");
  EXPECT_EQ(stored.encoded_bytes, 4U);
  EXPECT_EQ(stored.codec, Codec::kNone);
  EXPECT_TRUE(stored.crc_known);
  EXPECT_EQ(stored.crc, Crc32(test::BytesOf("four")));
  const Record deflated = Value(FindStorage(source, archive, "1"));
  EXPECT_EQ(deflated.codec, Codec::kDeflate);
  EXPECT_EQ(deflated.bytes, 4U);
  EXPECT_EQ(deflated.encoded_bytes, kNoneDeflated.size());
  EXPECT_FALSE(Value(FindStorage(source, archive, "2")).crc_known);
  EXPECT_TRUE(Value(FindStorage(source, archive, "3")).crc_known);
  EXPECT_EQ(ErrorOf(FindStorage(source, archive, "4")).kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(ErrorOf(FindStorage(source, archive, "5")).kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(ErrorOf(FindStorage(source, archive, "x")).message(),
            "archive has no record \"a/data/x\", expected one for storage \"x\"");
}

}  // namespace
}  // namespace dcpctl::torch
