#include "dcp/details.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "dcp/sample_metadata.h"

namespace dcpctl::dcp {
namespace {

using pickle::Document;
using pickle::Value;

std::string DetailOf(Value root, const std::string& name) {
  for (const auto& [found, text] : ReadDetails(root)) {
    if (found == name) return text;
  }
  return "";
}

// A checkpoint of one tensor, with more attributes of Metadata.
class SampleRoot {
 public:
  explicit SampleRoot(SampleStyle style = {}) : sample_(std::move(style)) {
    sample_.AddTensor("w", "float32", {2}, {{{0}, {2}}});
  }

  Document& document() { return sample_.document(); }
  Value Instance(const std::string& name, const std::vector<std::pair<std::string, Value>>& attributes) {
    return sample_.Instance(name, attributes);
  }
  Value With(const std::vector<std::pair<std::string, Value>>& attributes) {
    const Value root = sample_.Finish();
    const Value state = *root.state();
    for (const auto& [name, value] : attributes) document().SetItem(state, document().String(name), value);
    return root;
  }

 private:
  SampleMetadata sample_;
};

TEST(Details, TellTheFirstPyTorchByItsModules) {
  SampleRoot old({.old_modules = true});
  EXPECT_EQ(DetailOf(old.With({}), "written_by"), "torch 1.13");
}

TEST(Details, TellPyTorch215ByItsProperties) {
  SampleRoot newest({.six_properties = true});
  EXPECT_EQ(DetailOf(newest.With({{"version", newest.document().String("1.0.0")}}), "written_by"), "torch >= 2.15");
}

TEST(Details, TellPyTorch29ByTheVersion) {
  SampleRoot root;
  EXPECT_EQ(DetailOf(root.With({{"version", root.document().String("1.0.0")}}), "written_by"), "torch >= 2.9");
}

TEST(Details, TellPyTorch27And24ByTheStorageMeta) {
  SampleRoot later;
  const Value with_modules = later.Instance("StorageMeta", {{"modules", later.document().List()}});
  EXPECT_EQ(DetailOf(later.With({{"storage_meta", with_modules}}), "written_by"), "torch >= 2.7");
  SampleRoot earlier;
  const Value without = earlier.Instance("StorageMeta", {{"save_id", earlier.document().String("abc")}});
  EXPECT_EQ(DetailOf(earlier.With({{"storage_meta", without}}), "written_by"), "torch >= 2.4");
}

TEST(Details, ClaimNothingWithoutEvidence) {
  SampleRoot root;
  EXPECT_EQ(DetailOf(root.With({}), "written_by"), "");
}

}  // namespace
}  // namespace dcpctl::dcp
