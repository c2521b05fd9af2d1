#include "torch/build.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/result.h"
#include "tests/torch/real_files.h"
#include "tests/zip/raw_zip.h"
#include "torch/archive.h"
#include "torch/flatten.h"
#include "torch/tensor.h"

namespace dcpctl::torch {
namespace {

using test::Value;

// The pickle of one value alone.
std::string Alone(pickle::Value value) {
  pickle::Document document;
  const auto keep_id = [](pickle::Value id, pickle::Document& target) -> Result<pickle::Value> {
    return target.Tuple({target.String(id[0].AsText()), target.Global(id[1].module(), id[1].name()),
                         target.String(id[2].AsText()), target.String(id[3].AsText()), target.Int(id[4].AsInt())});
  };
  pickle::Document::Importer importer(document, keep_id);
  return Value(pickle::WritePickle(Value(importer.Import(value))));
}

TEST(TorchBuild, MakesWhatTorchSaves) {
  size_t compared = 0;
  for (const RealFile& file : RealFiles()) {
    const std::string stem = file.path.stem().string();
    if (stem != "dtypes" && stem != "shapes" && stem != "plain") continue;
    const MemorySource source = zip::AsSource(file.bytes);
    const Archive archive = Value(OpenArchive(source, 0, source.size(), Limits{}));
    for (const Leaf& leaf : Value(Flatten(archive.document.root(), "f", Limits{}))) {
      if (!LooksLikeTensor(leaf.value)) continue;
      const TensorValue tensor = Value(ReadTensor(leaf.value, "f"));
      pickle::Document document;
      const pickle::Value made = MakeTensor(document, tensor.dtype, tensor.shape, tensor.storage_key);
      EXPECT_EQ(Alone(made), Alone(leaf.value)) << file.path << " " << leaf.key;
      ++compared;
    }
  }
  EXPECT_GT(compared, 150U);
}

TEST(TorchBuild, ReadsBackAsPlainTensor) {
  pickle::Document document;
  for (const DType dtype : {DType::kFloat32, DType::kUInt16, DType::kFloat8E5M2, DType::kComplex64}) {
    const TensorValue tensor = Value(ReadTensor(MakeTensor(document, dtype, Dims{2, 0, 3}, "9"), "f"));
    EXPECT_EQ(tensor.dtype, dtype);
    EXPECT_EQ(tensor.storage_key, "9");
    EXPECT_EQ(tensor.location, "cpu");
    EXPECT_EQ(tensor.strides, (Dims{3, 3, 1}));
    EXPECT_EQ(tensor.storage_items, 0U);
    EXPECT_FALSE(tensor.requires_grad);
  }
}

}  // namespace
}  // namespace dcpctl::torch
