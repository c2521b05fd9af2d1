// What CPython wrote is read, shown as its repr, and survives being written again.
#include <gtest/gtest.h>

#include "tests/pickle/cpython_samples.h"
#include "tests/pickle/graph.h"

namespace dcpctl::pickle {
namespace {

class PickleSamples : public testing::TestWithParam<Sample> {};

TEST_P(PickleSamples, PrintAsPython) {
  const std::string bytes = FromHex(GetParam().hex);
  const Document document = MustRead(bytes);
  EXPECT_EQ(Print(document.root()), GetParam().printed);
  EXPECT_EQ(TypeName(document.root()), GetParam().type_name);
}

TEST_P(PickleSamples, KeepTheirShapeWhenWrittenAgain) {
  const std::string bytes = FromHex(GetParam().hex);
  const Document document = MustRead(bytes);
  for (const int protocol : {2, 4}) {
    const std::string again = MustWrite(document.root(), protocol);
    EXPECT_EQ(Shape(MustRead(again).root()), Shape(document.root())) << "protocol " << protocol;
    EXPECT_EQ(Print(MustRead(again).root()), GetParam().printed) << "protocol " << protocol;
  }
}

INSTANTIATE_TEST_SUITE_P(CPython, PickleSamples, testing::ValuesIn(CPythonSamples().begin(), CPythonSamples().end()));

}  // namespace

void PrintTo(const Sample& sample, std::ostream* out) { *out << sample.expression << ", protocol " << sample.protocol; }

}  // namespace dcpctl::pickle
