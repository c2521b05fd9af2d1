#include "torch/tensor.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tests/support/result.h"
#include "tests/torch/sample_archive.h"
#include "tests/zip/raw_zip.h"
#include "torch/archive.h"

namespace dcpctl::torch {
namespace {

using pickle::Document;
using test::ErrorOf;

// 2x3 from element 1 of a storage of 8 floats.
const SampleTensor kSample{.items = 8, .offset = 1, .shape = {2, 3}, .strides = {3, 1}};

TensorValue Read(pickle::Value value) { return test::Value(ReadTensor(value, "f")); }

void ExpectRefused(pickle::Value value, ErrorKind kind, const std::string& part) {
  const Error error = ErrorOf(ReadTensor(value, "f"));
  EXPECT_EQ(error.kind(), kind) << error.ToString();
  EXPECT_NE(error.message().find(part), std::string::npos) << error.ToString();
  EXPECT_EQ(error.place().file, "f");
}

void ExpectSampleRefused(const std::function<void(SampleTensor&)>& tweak, ErrorKind kind, const std::string& part) {
  Document document;
  SampleTensor sample = kSample;
  tweak(sample);
  ExpectRefused(MakeSample(document, sample), kind, part);
}

TEST(TorchTensor, ReadsVersion2) {
  Document document;
  const TensorValue tensor = Read(MakeSample(document, {.storage_class = "HalfStorage",
                                                        .key = "7",
                                                        .location = "cuda:0",
                                                        .items = 8,
                                                        .offset = 1,
                                                        .shape = {3, 2},
                                                        .strides = {1, 3},
                                                        .requires_grad = true}));
  EXPECT_EQ(tensor.dtype, DType::kFloat16);
  EXPECT_EQ(tensor.storage_key, "7");
  EXPECT_EQ(tensor.location, "cuda:0");
  EXPECT_EQ(tensor.storage_items, 8U);
  EXPECT_EQ(tensor.storage_item_bytes, 2U);
  EXPECT_EQ(tensor.first_element, 1U);
  EXPECT_EQ(tensor.shape, (Dims{3, 2}));
  EXPECT_EQ(tensor.strides, (Dims{1, 3}));
  EXPECT_TRUE(tensor.requires_grad);
  EXPECT_FALSE(tensor.conj || tensor.neg);
}

TEST(TorchTensor, Version3CountsElementsOfItsDType) {
  Document document;
  SampleTensor sample = kSample;
  sample.storage_class = "UntypedStorage";
  sample.items = 14;  // bytes: elements 0 to 6 of two bytes each
  std::vector<pickle::Value> args = SampleArguments(document, sample);
  args.push_back(document.Global("torch", "uint16"));
  const TensorValue tensor = Read(MakeCall(document, "torch._utils", "_rebuild_tensor_v3", args));
  EXPECT_EQ(tensor.dtype, DType::kUInt16);
  EXPECT_EQ(tensor.first_element, 1U);
  EXPECT_EQ(tensor.storage_items * tensor.storage_item_bytes, 14U);
  sample.items = 13;
  args[0] = SampleArguments(document, sample)[0];
  ExpectRefused(MakeCall(document, "torch._utils", "_rebuild_tensor_v3", args), ErrorKind::kCorrupt,
                "needs 14 bytes of storage \"0\", which has 13");
  args[6] = document.Global("torch", "bcomplex32");
  ExpectRefused(MakeCall(document, "torch._utils", "_rebuild_tensor_v3", args), ErrorKind::kUnsupported,
                "dtype \"torch.bcomplex32\"");
}

TEST(TorchTensor, ReadsOldestForm) {
  Document document;
  std::vector<pickle::Value> args = SampleArguments(document, kSample);
  args.erase(args.begin() + 4, args.end());
  EXPECT_EQ(Read(MakeCall(document, "torch._utils", "_rebuild_tensor", args)).shape, (Dims{2, 3}));
}

TEST(TorchTensor, UnwrapsParameters) {
  Document document;
  std::vector<pickle::Value> args = {MakeSample(document, kSample), document.Bool(true),
                                     document.Call(document.Global("collections", "OrderedDict"), {})};
  const pickle::Value parameter = MakeCall(document, "torch._utils", "_rebuild_parameter", args);
  EXPECT_TRUE(Read(parameter).requires_grad);
  EXPECT_EQ(Read(parameter).shape, (Dims{2, 3}));
  args.push_back(document.Dict());
  EXPECT_TRUE(Read(MakeCall(document, "torch._utils", "_rebuild_parameter_with_state", args)).requires_grad);
  args[0] = parameter;
  ExpectRefused(MakeCall(document, "torch._utils", "_rebuild_parameter", args), ErrorKind::kUnsupported,
                "_rebuild_parameter");
  args[0] = document.None();
  ExpectRefused(MakeCall(document, "torch._utils", "_rebuild_parameter", args), ErrorKind::kCorrupt,
                "data of a tensor is of type NoneType");
}

TEST(TorchTensor, UnwrapsPlainTensorsWithAttributes) {
  Document document;
  const auto from_type = [&](const std::string& module, const std::string& name) {
    return MakeCall(document, "torch._tensor", "_rebuild_from_type_v2",
                    {document.Global("torch._utils", "_rebuild_tensor_v2"), document.Global(module, name),
                     document.Tuple(SampleArguments(document, kSample)), document.Dict()});
  };
  EXPECT_EQ(Read(from_type("torch", "Tensor")).shape, (Dims{2, 3}));
  EXPECT_EQ(Read(from_type("torch.nn.parameter", "Parameter")).shape, (Dims{2, 3}));
  ExpectRefused(from_type("torchao.dtypes", "AffineQuantizedTensor"), ErrorKind::kUnsupported,
                "an instance of torchao.dtypes.AffineQuantizedTensor");
  const pickle::Value parameter =
      MakeCall(document, "torch._utils", "_rebuild_parameter", {from_type("torchao.x", "Y"), document.Bool(false)});
  ExpectRefused(parameter, ErrorKind::kUnsupported, "an instance of torchao.x.Y");
}

TEST(TorchTensor, NamesOtherKinds) {
  Document document;
  const auto kind = [&](const std::string& function, const std::string& part) {
    const pickle::Value value = MakeCall(document, "torch._utils", function, {});
    EXPECT_TRUE(LooksLikeTensor(value)) << function;
    ExpectRefused(value, ErrorKind::kUnsupported, part);
  };
  kind("_rebuild_sparse_tensor", "a sparse tensor");
  kind("_rebuild_sparse_csr_tensor", "a sparse tensor");
  kind("_rebuild_qtensor", "a quantized tensor");
  kind("_rebuild_nested_tensor", "a nested tensor");
  kind("_rebuild_meta_tensor_no_storage", "a meta tensor");
  kind("_rebuild_wrapper_subclass", "a tensor subclass");
  kind("_rebuild_device_tensor_from_numpy", "numpy");
  ExpectSampleRefused([](SampleTensor& s) { s.location = "meta"; }, ErrorKind::kUnsupported, "a meta tensor");
  ExpectRefused(MakeCall(document, "os", "system", {}), ErrorKind::kUnsupported, "\"os.system\"");
  ExpectRefused(document.Int(1), ErrorKind::kUnsupported, "of type int");
}

TEST(TorchTensor, RecognisesTensors) {
  Document document;
  EXPECT_TRUE(LooksLikeTensor(MakeSample(document, kSample)));
  EXPECT_TRUE(LooksLikeTensor(MakeCall(document, "torch._tensor", "_rebuild_from_type_v2", {})));
  EXPECT_FALSE(LooksLikeTensor(MakeCall(document, "my.module", "_rebuild_tensor_v2", {})));
  EXPECT_FALSE(LooksLikeTensor(MakeCall(document, "torch._utils", "_something_else", {})));
  EXPECT_FALSE(LooksLikeTensor(document.PersistentId(document.Int(0))));
  EXPECT_FALSE(LooksLikeTensor(document.Dict()));
}

TEST(TorchTensor, KnowsConjugatedAndNegatedViews) {
  Document document;
  std::vector<pickle::Value> args = SampleArguments(document, kSample);
  const pickle::Value metadata = document.Dict();
  args.push_back(metadata);
  const pickle::Value value = MakeCall(document, "torch._utils", "_rebuild_tensor_v2", args);
  document.SetItem(metadata, document.String("backend"), document.Bool(true));
  EXPECT_TRUE(ReadPlainTensor(value, "f"));
  document.SetItem(metadata, document.String("neg"), document.Bool(true));
  EXPECT_TRUE(Read(value).neg);
  EXPECT_FALSE(Read(value).conj);
  EXPECT_NE(ErrorOf(ReadPlainTensor(value, "f")).message().find("a lazily negated view"), std::string::npos);
  document.SetItem(metadata, document.String("conj"), document.Bool(true));
  EXPECT_TRUE(Read(value).conj);
  EXPECT_EQ(ErrorOf(ReadPlainTensor(value, "f")).kind(), ErrorKind::kUnsupported);
}

TEST(TorchTensor, RefusesTensorThatPickleChanges) {
  Document document;
  const pickle::Value value = MakeSample(document, kSample);
  document.SetState(value, document.Dict());
  ExpectRefused(value, ErrorKind::kUnsupported, "changed by its pickle");
  ExpectRefused(MakeCall(document, "torch._utils", "_rebuild_parameter", {value, document.Bool(true)}),
                ErrorKind::kUnsupported, "changed by its pickle");
}

TEST(TorchTensor, RejectsElementsOutsideStorage) {
  EXPECT_NO_THROW(ExpectSampleRefused([](SampleTensor& s) { s.items = 6; }, ErrorKind::kCorrupt,
                                      "from element 1 needs 28 bytes of storage \"0\", which has 24"));
  ExpectSampleRefused([](SampleTensor& s) { s.offset = 3; }, ErrorKind::kCorrupt, "needs 36 bytes");
  ExpectSampleRefused([](SampleTensor& s) { s.strides = {6, 1}; }, ErrorKind::kCorrupt, "needs 40 bytes");
  ExpectSampleRefused([](SampleTensor& s) { s.shape = {1, int64_t{1} << 62}; }, ErrorKind::kCorrupt, "more than 2^64");
  ExpectSampleRefused(
      [](SampleTensor& s) {
        s.strides = {INT64_MAX, INT64_MAX};
      },
      ErrorKind::kCorrupt, "more than 2^64");
  ExpectSampleRefused([](SampleTensor& s) { s.items = INT64_MAX; }, ErrorKind::kCorrupt, "that fits 64 bits");
  // Every element is the same one; their number is what does not fit.
  ExpectSampleRefused(
      [](SampleTensor& s) {
        s.shape = {int64_t{1} << 40, int64_t{1} << 40};
        s.strides = {0, 0};
      },
      ErrorKind::kCorrupt, "shape [1099511627776, 1099511627776]");
}

TEST(TorchTensor, AcceptsTheLastElementExactly) {
  Document document;
  SampleTensor sample = kSample;
  sample.items = 7;
  EXPECT_EQ(Read(MakeSample(document, sample)).storage_items, 7U);
}

TEST(TorchTensor, AcceptsTensorsWithoutElementsAndScalars) {
  Document document;
  EXPECT_EQ(Read(MakeSample(document, {.items = 0, .shape = {0, 5}, .strides = {5, 1}})).shape, (Dims{0, 5}));
  EXPECT_EQ(Read(MakeSample(document, {.items = 1})).shape, Dims{});
  ExpectRefused(MakeSample(document, {.items = 0}), ErrorKind::kCorrupt, "needs 4 bytes");
}

TEST(TorchTensor, RejectsBadNumbers) {
  ExpectSampleRefused([](SampleTensor& s) { s.shape = {2, -3}; }, ErrorKind::kCorrupt, "size 1 of a tensor is -3");
  ExpectSampleRefused([](SampleTensor& s) { s.strides = {-3, 1}; }, ErrorKind::kCorrupt, "stride 0 of a tensor is -3");
  ExpectSampleRefused([](SampleTensor& s) { s.offset = -1; }, ErrorKind::kCorrupt, "storage offset of a tensor is -1");
  ExpectSampleRefused([](SampleTensor& s) { s.items = -1; }, ErrorKind::kCorrupt, "size of storage \"0\" is -1");
  ExpectSampleRefused([](SampleTensor& s) { s.strides = {1}; }, ErrorKind::kCorrupt, "has 1 strides, expected 2");
  ExpectSampleRefused([](SampleTensor& s) { s.shape = s.strides = std::vector<int64_t>(65, 1); }, ErrorKind::kLimit,
                      "65 dimensions, expected at most 64");
}

TEST(TorchTensor, RejectsArgumentsOfOtherTypes) {
  const std::vector<std::string> names = {"storage", "storage offset", "size", "stride", "requires_grad"};
  for (size_t i = 0; i < names.size(); ++i) {
    Document document;
    std::vector<pickle::Value> args = SampleArguments(document, kSample);
    args[i] = document.Float(1.5);
    ExpectRefused(MakeCall(document, "torch._utils", "_rebuild_tensor_v2", args), ErrorKind::kCorrupt,
                  names[i] + " of a tensor is of type float");
    args.erase(args.begin() + static_cast<ptrdiff_t>(i), args.end());
    ExpectRefused(MakeCall(document, "torch._utils", "_rebuild_tensor_v2", args), ErrorKind::kCorrupt,
                  "expected " + names[i]);
  }
}

TEST(TorchTensor, ReadsPersistentIds) {
  Document document;
  const auto id = [&](const std::string& module, const std::string& name) {
    return document.Tuple({document.String("storage"), document.Global(module, name), document.String("k"),
                           document.String("cpu"), document.Int(5)});
  };
  EXPECT_EQ(test::Value(ReadPersistentId(id("torch", "BFloat16Storage"), "f")).dtype, DType::kBFloat16);
  EXPECT_EQ(test::Value(ReadPersistentId(id("torch.cuda", "LongStorage"), "f")).dtype, DType::kInt64);
  const StorageRef untyped = test::Value(ReadPersistentId(id("torch.storage", "UntypedStorage"), "f"));
  EXPECT_TRUE(untyped.untyped);
  EXPECT_EQ(untyped.dtype, DType::kUInt8);
  EXPECT_EQ(untyped.items, 5U);
  EXPECT_EQ(ErrorOf(ReadPersistentId(id("torch", "QUInt4x2Storage"), "f")).kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(ErrorOf(ReadPersistentId(document.String("storage"), "f")).kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(ErrorOf(ReadPersistentId(document.Tuple({document.String("storage")}), "f")).kind(), ErrorKind::kCorrupt);
  const pickle::Value zero = document.Int(0);
  EXPECT_EQ(ErrorOf(ReadPersistentId(document.Tuple({document.String("module"), zero, zero, zero, zero}), "f")).kind(),
            ErrorKind::kCorrupt);
  EXPECT_EQ(ErrorOf(ReadPersistentId(document.Tuple({document.String("storage"), zero, zero, zero, zero}), "f")).kind(),
            ErrorKind::kCorrupt);
}

TEST(TorchTensor, LocatesStorage) {
  Document document;
  const std::string data(32, 'd');
  const MemorySource source = zip::AsSource("0123456789" + SaveTorch(MakeSample(document, kSample), {data}));
  const Archive archive = test::Value(OpenArchive(source, 10, source.size() - 10, Limits{}));
  const LocatedTensor located = test::Value(LocateTensor(ArchiveStorages(source, archive), archive.document.root()));
  EXPECT_EQ(located.value.shape, (Dims{2, 3}));
  EXPECT_EQ(located.stored.first_element, 1U);
  EXPECT_EQ(located.stored.bytes, 32U);
  EXPECT_EQ(located.stored.encoded_bytes, 0U);
  EXPECT_TRUE(located.stored.crc_known);
  EXPECT_EQ((located.stored.offset - 10) % 64, 0U);
  EXPECT_EQ(test::TextOf(test::Value(ReadRange(source, located.stored.offset, 32))), data);
}

TEST(TorchTensor, RejectsRecordOfOtherSize) {
  Document document;
  const MemorySource source = zip::AsSource(SaveTorch(MakeSample(document, kSample), {std::string(31, 'd')}));
  const Archive archive = test::Value(OpenArchive(source, 0, source.size(), Limits{}));
  EXPECT_EQ(ErrorOf(LocateTensor(ArchiveStorages(source, archive), archive.document.root())).message(),
            "record of storage \"0\" has 31 bytes, expected 32 as the pickle says");
}

}  // namespace
}  // namespace dcpctl::torch
