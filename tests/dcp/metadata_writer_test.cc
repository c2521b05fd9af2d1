#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "dcp/catalog_builder.h"
#include "dcp/layout.h"
#include "dcp/metadata.h"
#include "support/result.h"

namespace dcpctl::dcp {
namespace {

using test::Value;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

const char* const kFile = ".metadata";

PathElement Pos(uint64_t position) { return {position}; }

// A tensor in two files, a scalar, a tensor without elements, and an object.
NewMetadata Sample() {
  static const Dims first = {0, 0};
  static const Dims sizes[] = {{3, 3}, {1, 3}, {0, 2}};
  static const Dims second = {3, 0};
  static const Dims shapes[] = {{4, 3}, {0, 2}};
  static const KeyPath paths[] = {{"model", "w"}, {"optim", "a.b", Pos(0)}, {"empty"}, {"step"}};
  NewMetadata metadata{.files = {"__0_0.distcp", "__1_0.distcp"}, .entries = {}};
  metadata.entries = {
      {.key = "model.w",
       .path = paths[0],
       .is_tensor = true,
       .dtype = DType::kBFloat16,
       .requires_grad = true,
       .shape = shapes[0],
       .chunks = {{.box = {first, sizes[0]}, .file = 0, .place = {.offset = 100, .length = 50}},
                  {.box = {second, sizes[1]}, .file = 1, .place = {.offset = 7, .length = 60}}}},
      {.key = "optim.a.b.0",
       .path = paths[1],
       .is_tensor = true,
       .dtype = DType::kInt64,
       .shape = {},
       .chunks = {{.box = {}, .file = 1, .place = {.offset = 70, .length = 8}}}},
      {.key = "empty",
       .path = paths[2],
       .is_tensor = true,
       .shape = shapes[1],
       .chunks = {{.box = {first, sizes[2]}, .file = 0, .place = {.offset = 150, .length = 9}}}},
      {.key = "step",
       .path = paths[3],
       .shape = {},
       .chunks = {{.box = {}, .file = 0, .place = {.offset = 0, .length = 100}}}},
  };
  return metadata;
}

pickle::Document Written(const NewMetadata& metadata, const Compat& compat = DefaultCompat()) {
  const auto bytes = std::make_shared<const std::string>(Value(WriteMetadata(metadata, compat)));
  pickle::Document document =
      Value(pickle::ReadPickle(test::BytesOf(*bytes), {.file = kFile, .allow_persistent_ids = false, .limits = {}}));
  document.KeepAlive(bytes);
  return document;
}

Catalog CatalogOf(const NewMetadata& metadata, const Compat& compat = DefaultCompat()) {
  const pickle::Document document = Written(metadata, compat);
  CatalogBuilder builder({});
  Value(builder.Add(document.root(), kFile));
  return Value(std::move(builder).Finish());
}

// "FILE+OFFSET+LENGTH BOX" of each chunk.
std::vector<std::string> Chunks(const Catalog& catalog, const Tensor& tensor) {
  std::vector<std::string> out;
  for (const Chunk& chunk : catalog.ChunksOf(tensor)) {
    const std::string file = chunk.file == kNoFile ? "nowhere" : catalog.files[chunk.file].path;
    out.push_back(file + "+" + std::to_string(chunk.offset) + "+" + std::to_string(chunk.length) + " " +
                  ToString(catalog.BoxOf(tensor, chunk)));
  }
  return out;
}

std::set<std::string> Globals(const pickle::Document& document) {
  std::set<std::string> names;
  for (const pickle::Value global : document.Globals())
    names.insert(std::string(global.module()) + " " + std::string(global.name()));
  return names;
}

TEST(MetadataWriter, WritesWhatTheReaderReads) {
  const Catalog catalog = CatalogOf(Sample());
  EXPECT_THAT(catalog.findings, IsEmpty());
  EXPECT_TRUE(catalog.nested);
  std::vector<std::string> keys;
  for (const EntryRef entry : catalog.entries) keys.emplace_back(catalog.KeyOf(entry));
  EXPECT_THAT(keys, ElementsAre("model.w", "optim.a.b.0", "empty", "step"));
  ASSERT_EQ(catalog.tensors.size(), 3U);
  const Tensor& weight = catalog.tensors[0];
  EXPECT_EQ(weight.dtype, DType::kBFloat16);
  EXPECT_TRUE(weight.requires_grad);
  EXPECT_EQ(weight.shape, (Dims{4, 3}));
  EXPECT_EQ(catalog.KeyPathOf(weight), (KeyPath{"model", "w"}));
  EXPECT_THAT(Chunks(catalog, weight), ElementsAre("__0_0.distcp+100+50 [0:3, 0:3]", "__1_0.distcp+7+60 [3:4, 0:3]"));
  const Tensor& scalar = catalog.tensors[1];
  EXPECT_EQ(scalar.dtype, DType::kInt64);
  EXPECT_FALSE(scalar.requires_grad);
  EXPECT_EQ(scalar.shape, Dims{});
  EXPECT_EQ(catalog.KeyPathOf(scalar), (KeyPath{"optim", "a.b", Pos(0)}));
  EXPECT_THAT(Chunks(catalog, scalar), ElementsAre("__1_0.distcp+70+8 []"));
  EXPECT_EQ(catalog.tensors[2].shape, (Dims{0, 2}));
  EXPECT_THAT(Chunks(catalog, catalog.tensors[2]), ElementsAre("__0_0.distcp+150+9 [0:0, 0:2]"));
  ASSERT_EQ(catalog.objects.size(), 1U);
  const Object& step = catalog.objects[0];
  EXPECT_EQ(catalog.KeyPathOf(step), (KeyPath{"step"}));
  EXPECT_EQ(catalog.files.at(step.file).path, "__0_0.distcp");
  EXPECT_EQ(step.offset, 0U);
  EXPECT_EQ(step.length, 100U);
}

TEST(MetadataWriter, KnowsEveryDtype) {
  for (const DType dtype : {
#define X(constant, name, bytes, swap_unit, floating, storage, safetensors) DType::constant,
#include "dcpctl/dtypes.def"
#undef X
       }) {
    NewMetadata metadata = Sample();
    metadata.entries[0].dtype = dtype;
    EXPECT_EQ(CatalogOf(metadata).tensors[0].dtype, dtype) << Name(dtype);
  }
}

TEST(MetadataWriter, WritesTheSameBytesTwice) {
  const std::string once = Value(WriteMetadata(Sample(), DefaultCompat()));
  EXPECT_EQ(Value(WriteMetadata(Sample(), DefaultCompat())), once);
  NewMetadata other = Sample();
  other.entries[0].chunks[0].place.offset += 1;
  EXPECT_NE(Value(WriteMetadata(other, DefaultCompat())), once);
}

TEST(MetadataWriter, LeavesOutPathsOfAFlatCheckpoint) {
  NewMetadata metadata = Sample();
  metadata.nested = false;
  const pickle::Document document = Written(metadata);
  const auto planner = document.root().state().value().Find("planner_data");
  ASSERT_TRUE(planner);
  EXPECT_TRUE(planner->Is(pickle::Kind::kNone));
  EXPECT_FALSE(CatalogOf(metadata).nested);
  EXPECT_FALSE(Value(ReadMetadata(document.root(), kFile)).planner_data);
}

// PyTorch of 2.3 and before finds None where it expects a dict.
TEST(MetadataWriter, HasPathsEvenWithoutEntries) {
  NewMetadata metadata;
  const pickle::Document document = Written(metadata);
  EXPECT_TRUE(document.root().state().value().Find("planner_data").value().Is(pickle::Kind::kDict));
}

TEST(MetadataWriter, NamesTransforms) {
  NewMetadata metadata = Sample();
  metadata.transform_chains = {{}, {"stream.zstd/1"}, {"stream.rot13/1", "stream.zstd/1"}};
  metadata.entries[0].chunks[1].transforms = 1;
  metadata.entries[3].chunks[0].transforms = 2;
  const Catalog catalog = CatalogOf(metadata);
  const auto chunks = catalog.ChunksOf(catalog.tensors[0]);
  EXPECT_THAT(catalog.transform_chains.at(chunks[0].transforms), IsEmpty());
  EXPECT_THAT(catalog.transform_chains.at(chunks[1].transforms), ElementsAre("stream.zstd/1"));
  EXPECT_THAT(catalog.transform_chains.at(catalog.objects[0].transforms),
              ElementsAre("stream.rot13/1", "stream.zstd/1"));
}

// Before 2.7 a record has no such attribute, and a strict reader may not know it.
TEST(MetadataWriter, LeavesOutTransformsWhereThereAreNone) {
  const std::string bytes = Value(WriteMetadata(Sample(), DefaultCompat()));
  EXPECT_THAT(bytes, Not(HasSubstr("transform_descriptors")));
}

TEST(MetadataWriter, UsesOnlyClassesThatTheVersionHas) {
  EXPECT_THAT(
      Globals(Written(Sample())),
      ElementsAre("torch Size", "torch bfloat16", "torch float32", "torch int64",
                  "torch.distributed._shard.sharded_tensor.metadata MEM_FORMAT_ENCODING",
                  "torch.distributed._shard.sharded_tensor.metadata TensorProperties",
                  "torch.distributed.checkpoint.filesystem _StorageInfo",
                  "torch.distributed.checkpoint.metadata BytesStorageMetadata",
                  "torch.distributed.checkpoint.metadata ChunkStorageMetadata",
                  "torch.distributed.checkpoint.metadata Metadata",
                  "torch.distributed.checkpoint.metadata MetadataIndex",
                  "torch.distributed.checkpoint.metadata TensorStorageMetadata", "torch.serialization _get_layout"));
  const std::set<std::string> first = Globals(Written(Sample(), Value(CompatOf("1.13"))));
  EXPECT_THAT(first, Contains("torch.distributed._shard.checkpoint.metadata Metadata"));
  EXPECT_THAT(first, Contains("torch.distributed._shard.checkpoint.filesystem _StorageInfo"));
  EXPECT_THAT(first, Each(Not(StartsWith("torch.distributed.checkpoint"))));
}

// dtype, layout, requires_grad, memory format, pin_memory: PyTorch up to 2.14 unpacks exactly five.
TEST(MetadataWriter, GivesPropertiesFiveParts) {
  const pickle::Document document = Written(Sample());
  const Metadata metadata = Value(ReadMetadata(document.root(), kFile));
  const pickle::Value properties = metadata.state_dict.value(0).state().value().Find("properties").value();
  const pickle::Value state = properties.state().value();
  ASSERT_TRUE(state.Is(pickle::Kind::kTuple));
  ASSERT_EQ(state.size(), 5U);
  EXPECT_TRUE(state[0].IsGlobal("torch", "bfloat16"));
  EXPECT_TRUE(state[1].IsCallOf("torch.serialization", "_get_layout"));
  EXPECT_TRUE(state[2].AsBool());
  EXPECT_TRUE(state[3].IsCallOf("torch.distributed._shard.sharded_tensor.metadata", "MEM_FORMAT_ENCODING"));
  EXPECT_FALSE(state[4].AsBool());
}

// An index is found by name and offset; that of an object has no offset.
TEST(MetadataWriter, IndexesObjectsWithoutOffset) {
  const pickle::Document document = Written(Sample());
  const Metadata metadata = Value(ReadMetadata(document.root(), kFile));
  ASSERT_EQ(metadata.storage_data.size(), 5U);
  const pickle::Value tensor = metadata.storage_data.key(1).state().value();
  EXPECT_EQ(tensor.Find("fqn").value().AsText(), "model.w");
  EXPECT_EQ(tensor.Find("index").value().AsInt(), 1);
  EXPECT_TRUE(tensor.Find("offset"));
  const pickle::Value object = metadata.storage_data.key(4).state().value();
  EXPECT_EQ(object.Find("fqn").value().AsText(), "step");
  EXPECT_TRUE(object.Find("index").value().Is(pickle::Kind::kNone));
  EXPECT_FALSE(object.Find("offset"));
}

}  // namespace
}  // namespace dcpctl::dcp
