#include "dcp/metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dcp/sample_metadata.h"
#include "support/result.h"

namespace dcpctl::dcp {
namespace {

using pickle::Document;
using test::ErrorOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

const char* const kFile = "ckpt/.metadata";

// A pickle as a reader gets it, with the bytes behind it.
struct ReadBack {
  explicit ReadBack(std::string pickle)
      : bytes(std::move(pickle)),
        document(test::Value(
            pickle::ReadPickle(test::BytesOf(bytes), {.file = kFile, .allow_persistent_ids = false, .limits = {}}))) {}
  std::string bytes;
  Document document;
};

// One tensor, one object, a record and a path for each.
SampleMetadata Sample(SampleStyle style = {}, SampleRecord::Spelling spelling = SampleRecord::Spelling::kAbsent) {
  SampleMetadata sample(std::move(style));
  sample.AddTensor("w", "bfloat16", {4, 5}, {{{0, 0}, {2, 5}}, {{2, 0}, {2, 5}}}, true);
  sample.AddObject("step");
  sample.AddRecord(
      {.key = "w", .offsets = Ints{0, 0}, .path = "__0_0.distcp", .offset = 10, .length = 20, .spelling = spelling});
  sample.AddRecord(
      {.key = "step", .offsets = {}, .path = "__1_0.distcp", .offset = 30, .length = 40, .spelling = spelling});
  sample.AddPath("w", {"model", uint64_t{3}, "w"});
  return sample;
}

void ExpectSample(const ReadBack& read) {
  const Metadata metadata = test::Value(ReadMetadata(read.document.root(), kFile));
  ASSERT_EQ(metadata.state_dict.size(), 2U);
  const auto tensor = test::Value(ReadEntry(metadata.state_dict.value(0), kFile, {}));
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->dtype, DType::kBFloat16);
  EXPECT_TRUE(tensor->requires_grad);
  EXPECT_EQ(tensor->shape, (Dims{4, 5}));
  ASSERT_EQ(tensor->chunks.size(), 2U);
  const ChunkMetadata chunk = test::Value(ReadChunk(tensor->chunks[1], kFile));
  Dims dims;
  EXPECT_EQ(test::Value(AppendDims(chunk.offsets, kFile, dims)), 2U);
  EXPECT_EQ(test::Value(AppendDims(chunk.sizes, kFile, dims)), 2U);
  EXPECT_EQ(dims, (Dims{2, 0, 2, 5}));
  EXPECT_FALSE(test::Value(ReadEntry(metadata.state_dict.value(1), kFile, {})));

  ASSERT_EQ(metadata.storage_data.size(), 2U);
  const StorageRecord first =
      test::Value(ReadStorageRecord(metadata.storage_data.key(0), metadata.storage_data.value(0), kFile));
  EXPECT_EQ(first.key, "w");
  EXPECT_TRUE(first.tensor_offsets);
  EXPECT_EQ(first.path, "__0_0.distcp");
  EXPECT_EQ(first.offset, 10U);
  EXPECT_EQ(first.length, 20U);
  EXPECT_TRUE(first.transforms.empty());
  const StorageRecord second =
      test::Value(ReadStorageRecord(metadata.storage_data.key(1), metadata.storage_data.value(1), kFile));
  EXPECT_FALSE(second.tensor_offsets);

  ASSERT_TRUE(metadata.planner_data);
  EXPECT_EQ(test::Value(ReadPath(metadata.planner_data->value(0), kFile)), (KeyPath{"model", uint64_t{3}, "w"}));
}

TEST(Metadata, ReadsEveryHomeAndProtocol) {  // C22, C126
  for (const bool old_modules : {false, true}) {
    for (const bool six : {false, true}) {  // C122
      for (const int protocol : {2, 4}) {
        SCOPED_TRACE(std::to_string(old_modules) + std::to_string(six) + std::to_string(protocol));
        ExpectSample(ReadBack(Sample({.old_modules = old_modules, .six_properties = six}).Pickle(protocol)));
      }
    }
  }
}

TEST(Metadata, ReadsEverySpellingOfARecord) {  // C20
  using Spelling = SampleRecord::Spelling;
  for (const Spelling spelling : {Spelling::kAbsent, Spelling::kNone, Spelling::kList})
    ExpectSample(ReadBack(Sample({}, spelling).Pickle()));
  SampleMetadata sample;
  sample.AddRecord({.key = "w", .offsets = Ints{0}, .transforms = {"stream.zstd/1", "seal/2"}});
  const ReadBack read(sample.Pickle());
  const Metadata metadata = test::Value(ReadMetadata(read.document.root(), kFile));
  const StorageRecord record =
      test::Value(ReadStorageRecord(metadata.storage_data.key(0), metadata.storage_data.value(0), kFile));
  EXPECT_THAT(record.transforms, ElementsAre("stream.zstd/1", "seal/2"));
}

TEST(Metadata, LeavesUnknownAttributesAlone) {  // C23
  Overrides extras;
  for (const char* name : {"Metadata.*", "TensorStorageMetadata.*", "ChunkStorageMetadata.*", "MetadataIndex.*",
                           "_StorageInfo.*", "BytesStorageMetadata.*"}) {
    extras[name] = [](Document& d) {
      return d.Object(pickle::Construct::kNewObj, d.Global("acme.ckpt", "Extra"), d.Tuple({}));
    };
  }
  const ReadBack read(Sample({.overrides = extras}).Pickle());
  ExpectSample(read);
  const Metadata metadata = test::Value(ReadMetadata(read.document.root(), kFile));
  EXPECT_THAT(metadata.details, Contains(std::pair<std::string, std::string>("other_attributes", "unheard_of")));
}

TEST(Metadata, ReportsVersionAndStorage) {
  SampleMetadata sample;
  Document& document = sample.document();
  const auto text = [&](const char* value) { return document.String(value); };
  const auto path = document.Call(document.Global("pathlib", "PosixPath"), {text("runs"), text("7")});
  const auto meta =
      sample.Instance("StorageMeta", {{"checkpoint_id", path}, {"save_id", text("abc")}, {"load_id", document.None()}});
  const auto root = sample.Instance("Metadata", {{"state_dict_metadata", document.Dict()},
                                                 {"storage_data", document.Dict()},
                                                 {"planner_data", document.None()},
                                                 {"storage_meta", meta},
                                                 {"version", text("9.1")}});
  const Metadata metadata = test::Value(ReadMetadata(root, kFile));
  EXPECT_FALSE(metadata.planner_data);
  using Pair = std::pair<std::string, std::string>;
  EXPECT_THAT(metadata.details,
              IsSupersetOf({Pair("version", "9.1"), Pair("save_id", "abc"), Pair("checkpoint_id", "runs/7")}));
}

struct Wrong {
  std::string field;  // of Overrides
  std::function<std::optional<pickle::Value>(Document&)> value;
  std::string message;
};

std::optional<pickle::Value> Absent(Document& /*unused*/) { return std::nullopt; }
std::optional<pickle::Value> AText(Document& d) { return d.String("text"); }
std::optional<pickle::Value> ANumber(Document& d) { return d.Int(7); }
std::optional<pickle::Value> MinusOne(Document& d) { return d.Int(-1); }
std::optional<pickle::Value> Huge(Document& d) { return d.BigInt(std::string("\0\0\0\0\0\0\0\0\1", 9)); }
std::optional<pickle::Value> NegativeSize(Document& d) {
  return d.Call(d.Global("torch", "Size"), {d.Tuple({d.Int(4), d.Int(-5)})});
}
std::optional<pickle::Value> SizeOfText(Document& d) { return d.Tuple({d.String("4")}); }
std::optional<pickle::Value> ListOfNumber(Document& d) {
  const pickle::Value list = d.List();
  d.Append(list, d.Int(1));
  return list;
}

// Reads all that a catalog is made of.
Result<void> ReadAllOf(pickle::Value root) {
  const auto metadata = ReadMetadata(root, kFile);
  if (!metadata) return Fail(metadata.error());
  Dims dims;
  for (size_t i = 0; i < metadata->state_dict.size(); ++i) {
    const auto entry = ReadEntry(metadata->state_dict.value(i), kFile, {});
    if (!entry) return Fail(entry.error());
    for (size_t c = 0; *entry && c < (*entry)->chunks.size(); ++c) {
      const auto chunk = ReadChunk((*entry)->chunks[c], kFile);
      if (!chunk) return Fail(chunk.error());
      for (const pickle::Value size : {chunk->offsets, chunk->sizes}) {
        if (auto done = AppendDims(size, kFile, dims); !done) return Fail(done.error());
      }
    }
  }
  for (size_t i = 0; i < metadata->storage_data.size(); ++i) {
    const auto record = ReadStorageRecord(metadata->storage_data.key(i), metadata->storage_data.value(i), kFile);
    if (!record) return Fail(record.error());
    if (!record->tensor_offsets) continue;
    if (auto done = AppendDims(*record->tensor_offsets, kFile, dims); !done) return Fail(done.error());
  }
  return {};
}

TEST(Metadata, NamesTheFieldThatIsWrong) {
  const std::vector<Wrong> cases = {
      {"Metadata.state_dict_metadata", Absent, "Metadata.state_dict_metadata is"},
      {"Metadata.state_dict_metadata", ANumber, "Metadata.state_dict_metadata is \"7\", expected a dict"},
      {"Metadata.storage_data", Absent, "Metadata.storage_data is"},
      {"Metadata.storage_data", AText, "Metadata.storage_data is \"'text'\", expected a dict"},
      {"Metadata.planner_data", ANumber, "Metadata.planner_data is \"7\", expected a dict or None"},
      {"TensorStorageMetadata.properties", Absent, "TensorStorageMetadata.properties is"},
      {"TensorStorageMetadata.properties", ANumber,
       "TensorStorageMetadata.properties is \"7\", expected TensorProperties"},
      {"TensorStorageMetadata.chunks", Absent, "TensorStorageMetadata.chunks is"},
      {"TensorStorageMetadata.chunks", AText, "TensorStorageMetadata.chunks is \"'text'\", expected a list"},
      {"TensorStorageMetadata.chunks", ListOfNumber, "chunk is \"1\", expected ChunkStorageMetadata"},
      {"TensorStorageMetadata.size", Absent, "TensorStorageMetadata.size is"},
      {"TensorStorageMetadata.size", ANumber, "size is \"7\", expected a torch.Size"},
      {"TensorStorageMetadata.size", NegativeSize, "size is \"-5\", expected an integer >= 0"},
      {"TensorStorageMetadata.size", SizeOfText, "size is \"'4'\", expected an integer >= 0"},
      {"TensorProperties", Absent, "TensorProperties is"},
      {"TensorProperties", ListOfNumber, "TensorProperties is"},
      {"TensorProperties",
       [](Document& d) {
         return d.Tuple({d.Int(1), d.Int(2)});
       },
       "expected a state of five or more values"},
      {"TensorProperties",
       [](Document& d) {
         return d.Tuple({d.Int(1), d.Int(2), d.Int(3), d.Int(4), d.Int(5)});
       },
       "dtype is \"1\", expected a torch dtype"},
      {"ChunkStorageMetadata.offsets", Absent, "expected ChunkStorageMetadata with offsets and sizes"},
      {"ChunkStorageMetadata.sizes", Absent, "expected ChunkStorageMetadata with offsets and sizes"},
      {"ChunkStorageMetadata.offsets", NegativeSize, "size is \"-5\""},
      {"ChunkStorageMetadata.sizes", AText, "size is \"'text'\""},
      {"MetadataIndex.fqn", Absent, "MetadataIndex.fqn is"},
      {"MetadataIndex.fqn", ANumber, "MetadataIndex.fqn is \"7\", expected a str"},
      {"MetadataIndex.offset", AText, "size is \"'text'\""},
      {"_StorageInfo.relative_path", Absent, "_StorageInfo.relative_path is"},
      {"_StorageInfo.relative_path", ANumber, "_StorageInfo.relative_path is \"7\", expected a str"},
      {"_StorageInfo.offset", Absent, "_StorageInfo.offset is"},
      {"_StorageInfo.offset", MinusOne, "offset of a storage record is \"-1\", expected an integer >= 0"},
      {"_StorageInfo.offset", Huge, "_StorageInfo.offset is \"18446744073709551616\", expected an integer"},
      {"_StorageInfo.length", Absent, "_StorageInfo.length is"},
      {"_StorageInfo.length", MinusOne, "length of a storage record is \"-1\""},
      {"_StorageInfo.length", AText, "_StorageInfo.length is \"'text'\", expected an integer"},
  };
  for (const Wrong& wrong : cases) {
    SCOPED_TRACE(wrong.field + ": " + wrong.message);
    for (const int protocol : {2, 4}) {
      const ReadBack read(Sample({.overrides = {{wrong.field, wrong.value}}}).Pickle(protocol));
      const auto done = ReadAllOf(read.document.root());
      ASSERT_FALSE(done);
      EXPECT_EQ(done.error().kind(), ErrorKind::kCorrupt);
      EXPECT_EQ(done.error().place().file, kFile);
      EXPECT_THAT(done.error().message(), HasSubstr(wrong.message));
    }
  }
}

TEST(Metadata, NamesTransformsThatAreWrong) {
  for (const auto& [value, message] :
       std::vector<std::pair<std::function<std::optional<pickle::Value>(Document&)>, std::string>>{
           {AText, "transform_descriptors is \"'text'\", expected a list"},
           {ListOfNumber, "transform descriptor is \"1\", expected a str"}}) {
    const ReadBack read(
        Sample({.overrides = {{"_StorageInfo.transform_descriptors", value}}}, SampleRecord::Spelling::kNone).Pickle());
    const auto done = ReadAllOf(read.document.root());
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().message(), HasSubstr(message));
  }
}

// What ought to be an instance may be anything.
TEST(Metadata, PlainValuesHaveNoAttributes) {
  SampleMetadata sample;
  Document& document = sample.document();
  const pickle::Value number = document.Int(1);
  const pickle::Value index = sample.Instance("MetadataIndex", {{"fqn", document.String("w")}});
  for (const pickle::Value plain :
       {number, document.String("w"), document.Dict(), document.Tuple({number}), document.None()}) {
    EXPECT_THAT(ErrorOf(ReadChunk(plain, kFile)).message(), HasSubstr("expected ChunkStorageMetadata"));
    EXPECT_THAT(ErrorOf(ReadStorageRecord(plain, plain, kFile)).message(), HasSubstr("fqn is"));
    EXPECT_THAT(ErrorOf(ReadStorageRecord(index, plain, kFile)).message(), HasSubstr("relative_path is"));
    EXPECT_EQ(ErrorOf(ReadEntry(plain, kFile, {})).kind(), ErrorKind::kCorrupt);
    const pickle::Value root = sample.Instance(
        "Metadata",
        {{"state_dict_metadata", document.Dict()}, {"storage_data", document.Dict()}, {"storage_meta", plain}});
    EXPECT_TRUE(ReadMetadata(root, kFile));
  }
}

TEST(Metadata, RootMustBeMetadata) {
  SampleMetadata sample;
  Document& document = sample.document();
  for (const pickle::Value root :
       {document.Int(1), document.Dict(), document.Global("torch.distributed.checkpoint.metadata", "Metadata"),
        document.Call(document.Global("torch.distributed.checkpoint.metadata", "Metadata"), {}), sample.Size({1})}) {
    EXPECT_EQ(ErrorOf(ReadMetadata(root, kFile)).kind(), ErrorKind::kCorrupt);
  }
}

TEST(Metadata, EntryMustBeOfAKnownClass) {
  SampleMetadata sample;
  const Error error = ErrorOf(ReadEntry(sample.Instance("ShardedTensorStorageMetadata", {}), kFile, {}));
  EXPECT_EQ(error.kind(), ErrorKind::kCorrupt);
  EXPECT_THAT(error.message(), HasSubstr("expected TensorStorageMetadata or BytesStorageMetadata"));
}

TEST(Metadata, UnknownDtypeIsNotDamage) {
  SampleMetadata sample;
  sample.AddTensor("w", "float3_e1m1", {1}, {});
  const ReadBack read(sample.Pickle());
  const Metadata metadata = test::Value(ReadMetadata(read.document.root(), kFile));
  const Error error = ErrorOf(ReadEntry(metadata.state_dict.value(0), kFile, {}));
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_THAT(error.message(), HasSubstr("dtype \"float3_e1m1\""));
  EXPECT_TRUE(error.place().offset);
}

TEST(Metadata, TakesSizesAsTuplesAndLists) {
  SampleMetadata sample;
  Document& document = sample.document();
  const pickle::Value list = document.List();
  document.Append(list, document.Int(3));
  Dims dims;
  EXPECT_EQ(test::Value(AppendDims(sample.Size({1, 2}), kFile, dims)), 2U);
  EXPECT_EQ(test::Value(AppendDims(list, kFile, dims)), 1U);
  EXPECT_EQ(test::Value(AppendDims(document.Tuple({document.Int(4), document.Int(5)}), kFile, dims)), 2U);
  EXPECT_EQ(test::Value(AppendDims(sample.Size({}), kFile, dims)), 0U);
  EXPECT_EQ(dims, (Dims{1, 2, 3, 4, 5}));
}

TEST(Metadata, LimitsDimensions) {
  SampleMetadata sample;
  sample.AddTensor("w", "float32", Ints(65, 1), {});
  const pickle::Value root = sample.Finish();
  const Metadata metadata = test::Value(ReadMetadata(root, kFile));
  EXPECT_EQ(ErrorOf(ReadEntry(metadata.state_dict.value(0), kFile, {})).kind(), ErrorKind::kLimit);
  EXPECT_TRUE(ReadEntry(metadata.state_dict.value(0), kFile, {.rank = 65}));
}

TEST(Path, IsATupleOfNamesAndPositions) {
  Document d;
  EXPECT_EQ(test::Value(ReadPath(d.Tuple({d.String("a.b"), d.Int(0)}), kFile)), (KeyPath{"a.b", uint64_t{0}}));
  for (const pickle::Value path :
       {d.Tuple({}), d.String("a"), d.Tuple({d.Int(-1)}), d.Tuple({d.String("a"), d.None()})}) {
    const Error error = ErrorOf(ReadPath(path, kFile));
    EXPECT_EQ(error.kind(), ErrorKind::kCorrupt);
    EXPECT_THAT(error.message(), HasSubstr("planner_data"));
  }
}

}  // namespace
}  // namespace dcpctl::dcp
