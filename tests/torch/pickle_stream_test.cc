#include "torch/pickle_stream.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/result.h"
#include "tests/torch/sample_stream.h"
#include "tests/zip/raw_zip.h"

namespace dcpctl::torch {
namespace {

using test::ErrorOf;
using test::Value;

std::string PickleOfText(size_t bytes) {
  return PickleOf([&](pickle::Document& document) { return document.String(std::string(bytes, 't')); });
}

TEST(TorchPickleStream, ReadsOneAfterTheOther) {
  const std::string first = PickleOfText(10);
  const MemorySource source = zip::AsSource(first + PickleOfText(3) + "rest");
  const StreamedPickle one = Value(ReadPickleAt(source, 0, 4096, Limits{}));
  EXPECT_EQ(one.document.root().AsText().size(), 10U);
  EXPECT_EQ(one.bytes, first.size());
  const StreamedPickle two = Value(ReadPickleAt(source, one.bytes, 4096, Limits{}));
  EXPECT_EQ(two.offset, first.size());
  EXPECT_EQ(two.document.root().AsText(), "ttt");
  const Error error = ErrorOf(ReadPickleAt(source, two.offset + two.bytes, 4096, Limits{}));
  EXPECT_EQ(error.kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(error.place().offset, two.offset + two.bytes);
}

TEST(TorchPickleStream, ReadsMoreUntilThePickleEnds) {
  const std::string rest(1000, '\xff');
  for (size_t bytes = 0; bytes < 100; ++bytes) {
    const MemorySource source = zip::AsSource(PickleOfText(bytes) + rest);
    for (const uint64_t first_read : {1U, 2U, 16U, 50U, 5000U}) {
      EXPECT_EQ(Value(ReadPickleAt(source, 0, first_read, Limits{})).document.root().AsText().size(), bytes);
    }
  }
}

TEST(TorchPickleStream, TellsTooLargeFromCutOff) {
  const std::string pickle = PickleOfText(200);
  const MemorySource whole = zip::AsSource(pickle + "rest");
  const Limits exact{.pickle_bytes = pickle.size()};
  EXPECT_EQ(Value(ReadPickleAt(whole, 0, 16, exact)).bytes, pickle.size());
  const Limits small{.pickle_bytes = pickle.size() - 1};
  EXPECT_EQ(ErrorOf(ReadPickleAt(whole, 0, 16, small)).kind(), ErrorKind::kLimit);
  const MemorySource cut = zip::AsSource(pickle.substr(0, pickle.size() - 1));
  for (const uint64_t first_read : {16U, 4096U}) {
    EXPECT_EQ(ErrorOf(ReadPickleAt(cut, 0, first_read, Limits{})).kind(), ErrorKind::kCorrupt);
  }
}

TEST(TorchPickleStream, StopsAtDamageWithoutReadingOn) {
  const MemorySource source = zip::AsSource("\xff" + std::string(10000, '.'));
  const Error error = ErrorOf(ReadPickleAt(source, 0, 16, Limits{}));
  EXPECT_EQ(error.kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(error.place().offset, 0U);
}

TEST(TorchPickleStream, OwnsWhatItRead) {
  StreamedPickle read;
  {
    const MemorySource source = zip::AsSource(PickleOfText(5000) + "rest");
    read = Value(ReadPickleAt(source, 0, 16, Limits{}));
  }
  EXPECT_EQ(read.document.root().AsText(), std::string(5000, 't'));
}

TEST(TorchPickleStream, FindsNothingBehindTheEnd) {
  const MemorySource source = zip::AsSource("N.");
  EXPECT_EQ(ErrorOf(ReadPickleAt(source, 2, 16, Limits{})).kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(ErrorOf(ReadPickleAt(source, 3, 16, Limits{})).kind(), ErrorKind::kCorrupt);
}

}  // namespace
}  // namespace dcpctl::torch
