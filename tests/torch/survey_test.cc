#include "torch/survey.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/support/result.h"
#include "tests/torch/real_files.h"
#include "tests/torch/sample_archive.h"
#include "tests/zip/raw_zip.h"

namespace dcpctl::torch {
namespace {

using test::ErrorOf;
using test::Value;

std::string Sha256(const std::string& bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  EVP_Digest(bytes.data(), bytes.size(), digest, &length, EVP_sha256(), nullptr);
  std::string text;
  for (unsigned i = 0; i < length; ++i)
    text += std::string(1, "0123456789abcdef"[digest[i] / 16]) + "0123456789abcdef"[digest[i] % 16];
  return text;
}

// The elements in row-major order.
std::string Elements(const std::string& file, const Catalog& catalog, const Tensor& tensor) {
  const Chunk& chunk = catalog.chunks[tensor.first_chunk];
  const DimsView strides = catalog.StridesOf(tensor, chunk);
  const uint64_t item = ItemBytes(tensor.dtype);
  std::string elements;
  for (uint64_t i = 0; i < Numel(tensor.shape).value(); ++i) {
    uint64_t rest = i;
    uint64_t element = chunk.stored.first_element;
    for (size_t d = tensor.shape.size(); d-- > 0; rest /= tensor.shape[d])
      element += rest % tensor.shape[d] * strides[d];
    elements += file.substr(chunk.stored.offset + element * item, item);
  }
  return elements;
}

nlohmann::json PathJson(const KeyPath& path) {
  nlohmann::json json = nlohmann::json::array();
  for (const PathElement& element : path) std::visit([&](const auto& e) { json.push_back(e); }, element);
  return json;
}

void ExpectTensor(const std::string& file, const Catalog& catalog, const Tensor& tensor,
                  const nlohmann::json& expected) {
  EXPECT_EQ(PathJson(catalog.KeyPathOf(tensor)), expected.at("path"));
  EXPECT_EQ(Name(tensor.dtype), expected.at("dtype").get<std::string>());
  EXPECT_EQ(nlohmann::json(tensor.shape), expected.at("shape"));
  EXPECT_EQ(Sha256(Elements(file, catalog, tensor)), expected.at("sha256").get<std::string>());
}

void ExpectObject(const Catalog& catalog, const Object& object, const nlohmann::json& expected) {
  EXPECT_EQ(PathJson(catalog.KeyPathOf(object)), expected.value("path", nlohmann::json::array()));
  ASSERT_NE(object.value, nullptr);
  // Not a tensor in PyTorch either; its storages all have one type.
  if (expected.contains("type") && !object.value->document.root().Is(pickle::Kind::kPersistentId)) {
    EXPECT_EQ(pickle::TypeName(object.value->document.root()), expected.at("type").get<std::string>());
  }
}

using SurveyForm = Result<Catalog> (*)(const ByteSource&, const SurveyOptions&);

// Compares with the expected.json beside each file; returns the number of tensors whose elements were compared.
size_t ExpectFiles(const std::vector<RealFile>& files, SurveyForm survey) {
  std::map<std::filesystem::path, nlohmann::json> expectations;
  size_t tensors = 0;
  for (const RealFile& file : files) {
    SCOPED_TRACE(file.path);
    const std::filesystem::path folder = file.path.parent_path();
    if (!expectations.contains(folder)) {
      expectations[folder] = nlohmann::json::parse(ReadWholeFile(folder / "expected.json")).at("files");
    }
    const nlohmann::json& expected = expectations[folder].at(file.path.filename().string());
    const MemorySource source = zip::AsSource(file.bytes);
    const Catalog catalog = Value(survey(source, {.jobs = 2}));
    std::set<std::string> keys;
    for (const EntryRef entry : catalog.entries) {
      const std::string key(catalog.KeyOf(entry));
      SCOPED_TRACE(key);
      EXPECT_TRUE(keys.insert(key).second);
      if (!expected.contains(key)) {
        ADD_FAILURE() << "not expected";
        continue;
      }
      if (entry.is_tensor && expected[key].contains("sha256")) {
        ExpectTensor(file.bytes, catalog, catalog.tensors[entry.index], expected[key]);
        ++tensors;
      } else if (!entry.is_tensor) {
        ExpectObject(catalog, catalog.objects[entry.index], expected[key]);
      }
    }
    EXPECT_EQ(keys.size(), expected.size());
    for (const Finding& finding : catalog.findings) EXPECT_NE(finding.severity, Severity::kError) << finding.message;
  }
  return tensors;
}

TEST(TorchSurvey, FindsWhatRealFilesHave) { EXPECT_GT(ExpectFiles(RealFiles(), SurveyTorchZip), 500U); }

TEST(TorchSurvey, FindsWhatRealStreamsHave) {
  std::vector<RealFile> files = LegacyFiles();
  std::erase_if(files, [](const RealFile& file) { return file.path.filename() == "unknown_order.legacy.pt"; });
  EXPECT_GT(ExpectFiles(files, SurveyTorchLegacy), 400U);
}

Catalog SurveyPath(const std::string& path, const SurveyOptions& options) {
  const MemorySource source = zip::AsSource(ReadWholeFile(DCPCTL_TESTDATA_DIR "/" + path));
  return Value(SurveyTorchZip(source, options));
}

Catalog SurveyFile(const std::string& version, const std::string& name, const SurveyOptions& options = {}) {
  return SurveyPath(version + "/files/" + name, options);
}

Catalog SurveyStream(const std::string& name) {
  const MemorySource source =
      zip::AsSource(ReadWholeFile(DCPCTL_TESTDATA_DIR "/torch-2.13.0-legacy/files/" + name + ".legacy.pt"));
  return Value(SurveyTorchLegacy(source, {}));
}

TEST(TorchSurvey, DescribesTheStream) {
  const Catalog catalog = SurveyStream("protocol4");
  EXPECT_EQ(catalog.format, Format::kTorch);
  const std::map<std::string, std::string> details(catalog.details.begin(), catalog.details.end());
  EXPECT_EQ(details, (std::map<std::string, std::string>{{"root", "dict"},
                                                         {"form", "stream"},
                                                         {"protocol_version", "1001"},
                                                         {"storages", "1"},
                                                         {"byte_order", "little"}}));
  EXPECT_EQ(catalog.chunks.at(0).length, 8U);
  EXPECT_EQ(catalog.chunks.at(0).offset, catalog.files.at(0).bytes - 8);
  EXPECT_FALSE(catalog.chunks.at(0).stored.crc_known);
  EXPECT_EQ(catalog.metadata_bytes, catalog.objects.at(0).length);
}

TEST(TorchSurvey, TakesModulesOfAStreamAsObjectsOfTheirClass) {
  const Catalog root = SurveyStream("module");
  ASSERT_EQ(root.objects.size(), 1U);
  EXPECT_TRUE(root.KeyPathOf(root.objects[0]).empty());
  const pickle::Value module = root.objects[0].value->document.root();
  EXPECT_TRUE(module.callable().IsGlobal("torch.nn.modules.container", "Sequential"));
  EXPECT_EQ(root.objects[0].value->storages.size(), 7U);
  EXPECT_EQ(pickle::Print(module).find("layers.py"), std::string::npos);
}

TEST(TorchSurvey, SaysWhatFollowsAStream) {
  const Catalog catalog = SurveyStream("two");
  ASSERT_EQ(catalog.findings.size(), 1U);
  EXPECT_EQ(catalog.findings[0].id, "torch.trailing-bytes");
  EXPECT_EQ(catalog.findings[0].severity, Severity::kWarning);
  EXPECT_EQ(catalog.findings[0].offset, catalog.chunks.at(0).offset + 8);
  EXPECT_EQ(catalog.KeyOf(catalog.entries.at(0)), "first");
}

TEST(TorchSurvey, RefusesElementsOfAStreamWhoseOrderIsNotCertain) {
  const Catalog catalog = SurveyStream("unknown_order");
  ASSERT_EQ(catalog.findings.size(), 1U);
  EXPECT_EQ(catalog.findings[0].id, "torch.unsupported-entry");
  EXPECT_EQ(catalog.findings[0].key, "c");
  EXPECT_NE(catalog.findings[0].message.find("complex64 items of a big-endian machine"), std::string::npos);
  EXPECT_EQ(catalog.chunks.at(1).length, 8U);
}

TEST(TorchSurvey, KeepsOtherTensorsAsObjectsWithAWarning) {
  const std::map<std::string, std::string> kinds = {
      {"quant.pt", "a quantized tensor"}, {"sparse.pt", "a sparse tensor"}, {"conj.pt", "a lazily conjugated view"}};
  for (const auto& [name, kind] : kinds) {
    const Catalog catalog = SurveyFile("torch-2.13.0", name);
    ASSERT_FALSE(catalog.findings.empty()) << name;
    EXPECT_EQ(catalog.findings[0].severity, Severity::kWarning);
    EXPECT_NE(catalog.findings[0].message.find(kind), std::string::npos) << catalog.findings[0].message;
    EXPECT_TRUE(catalog.tensors.empty()) << name;
    ASSERT_FALSE(catalog.objects.empty());
    EXPECT_EQ(catalog.findings[0].key, catalog.objects[0].key);
    EXPECT_FALSE(catalog.objects[0].value->storages.empty()) << name;
  }
}

TEST(TorchSurvey, DescribesTheFile) {
  const Catalog catalog = SurveyFile("torch-2.13.0", "plain.pt");
  EXPECT_EQ(catalog.format, Format::kTorch);
  EXPECT_TRUE(catalog.nested);
  ASSERT_EQ(catalog.files.size(), 1U);
  EXPECT_EQ(catalog.files[0].bytes, 1563U);
  EXPECT_EQ(catalog.files[0].entries, 2U);
  EXPECT_TRUE(catalog.files[0].referenced);
  EXPECT_EQ(catalog.metadata_bytes, 177U);
  const std::map<std::string, std::string> details(catalog.details.begin(), catalog.details.end());
  EXPECT_EQ(details.at("root"), "dict");
  EXPECT_EQ(details.at("records"), "7");
  EXPECT_EQ(details.at("byte_order"), "little");
  EXPECT_EQ(details.at("archive_name"), "plain");
  EXPECT_EQ(details.at("version"), "3");
  EXPECT_EQ(catalog.objects.at(0).offset, 64U);
  EXPECT_EQ(catalog.objects.at(0).length, 177U);
}

TEST(TorchSurvey, MetadataDepthAndUnwantedEntriesHaveNoExtents) {
  for (const SurveyOptions& options : {SurveyOptions{.depth = SurveyDepth::kMetadata},
                                       SurveyOptions{.wanted = [](std::string_view) { return false; }}}) {
    const Catalog catalog = SurveyFile("torch-2.13.0", "plain.pt", options);
    ASSERT_EQ(catalog.tensors.size(), 1U);
    EXPECT_EQ(catalog.tensors[0].shape, (Dims{3, 4}));
    EXPECT_EQ(catalog.chunks[0].length, 0U);
    EXPECT_EQ(catalog.objects.at(0).value, nullptr);
  }
  const Catalog catalog =
      SurveyFile("torch-2.13.0", "plain.pt", {.wanted = [](std::string_view key) { return key == "w"; }});
  EXPECT_EQ(catalog.chunks[0].length, 48U);
  EXPECT_EQ(catalog.objects.at(0).value, nullptr);
}

TEST(TorchSurvey, ObjectDepthHasValuesAndNoExtents) {
  const Catalog catalog = SurveyFile("torch-2.13.0", "plain.pt", {.depth = SurveyDepth::kObjects});
  EXPECT_EQ(catalog.chunks[0].length, 0U);
  EXPECT_NE(catalog.objects.at(0).value, nullptr);
  const Catalog attack = SurveyPath("odd/calls_in_file/model.pt", {.depth = SurveyDepth::kObjects});
  EXPECT_TRUE(std::any_of(attack.objects.begin(), attack.objects.end(), [](const Object& o) { return o.value; }));
}

// Two tensors in storages "0" and "1", the first with a changed sample.
std::string TwoTensors(const SampleTensor& first, const std::vector<std::string>& storages,
                       const std::string& key = "b") {
  pickle::Document document;
  const pickle::Value root = document.Dict();
  document.SetItem(root, document.String("a"), MakeSample(document, first));
  document.SetItem(root, document.String(key), MakeSample(document, {.key = "1", .items = 1}));
  return SaveTorch(root, storages);
}

TEST(TorchSurvey, DamageOfAnEntryIsAFinding) {
  // Storage "0" has the wrong size; what its tensor looks like is known all the same.
  MemorySource source = zip::AsSource(TwoTensors({.items = 2, .shape = {2}, .strides = {1}}, {"four", "four"}));
  Catalog catalog = Value(SurveyTorchZip(source, {}));
  ASSERT_EQ(catalog.findings.size(), 1U);
  EXPECT_EQ(catalog.findings[0].id, "torch.damaged-entry");
  EXPECT_EQ(catalog.findings[0].severity, Severity::kError);
  EXPECT_EQ(catalog.findings[0].key, "a");
  ASSERT_EQ(catalog.tensors.size(), 2U);
  EXPECT_EQ(catalog.chunks[0].length, 0U);
  EXPECT_EQ(catalog.chunks[1].length, 4U);
  // A tensor that contradicts itself has no shape to list.
  source = zip::AsSource(TwoTensors({.items = 1, .shape = {2}, .strides = {1}}, {"four", "four"}));
  catalog = Value(SurveyTorchZip(source, {}));
  ASSERT_EQ(catalog.findings.size(), 1U);
  EXPECT_EQ(catalog.findings[0].key, "a");
  ASSERT_EQ(catalog.objects.size(), 1U);
  EXPECT_EQ(catalog.objects[0].key, "a");
  EXPECT_EQ(catalog.objects[0].value, nullptr);
}

TEST(TorchSurvey, TensorsMayNotDisagreeAboutOneStorage) {
  pickle::Document document;
  const pickle::Value root = document.Dict();
  document.SetItem(root, document.String("right"), MakeSample(document, {.items = 1}));
  document.SetItem(root, document.String("wrong"), MakeSample(document, {.items = 2}));
  const MemorySource source = zip::AsSource(SaveTorch(root, {"four"}));
  const Catalog catalog = Value(SurveyTorchZip(source, {}));
  ASSERT_EQ(catalog.findings.size(), 1U);
  EXPECT_EQ(catalog.findings[0].key, "wrong");
}

TEST(TorchSurvey, KeepsTheFirstOfTwoEntriesWithOneKey) {
  pickle::Document document;
  const pickle::Value inner = document.Dict();
  document.SetItem(inner, document.String("b"), document.Int(2));
  const pickle::Value root = document.Dict();
  document.SetItem(root, document.String("a.b"), document.Int(1));
  document.SetItem(root, document.String("a"), inner);
  const MemorySource source = zip::AsSource(SaveTorch(root, {}));
  const Catalog catalog = Value(SurveyTorchZip(source, {}));
  ASSERT_EQ(catalog.findings.size(), 1U);
  EXPECT_EQ(catalog.findings[0].id, "torch.key-collision");
  EXPECT_EQ(catalog.findings[0].key, "a.b");
  ASSERT_EQ(catalog.entries.size(), 1U);
  EXPECT_EQ(catalog.objects[0].value->document.root().AsInt(), 1);
}

TEST(TorchSurvey, WarnsOnceOfKeysOfWhichOnlyTheirClassKnowsTheText) {
  pickle::Document document;
  const pickle::Value colours = document.Dict();
  for (const int64_t number : {1, 2, 3}) {
    document.SetItem(colours, document.Call(document.Global("m", "Colour"), {document.Int(number)}), document.None());
  }
  const pickle::Value root = document.Dict();
  document.SetItem(root, document.String("a"), document.Int(1));
  document.SetItem(root, document.String("colours"), colours);
  const MemorySource source = zip::AsSource(SaveTorch(root, {}));
  const Catalog catalog = Value(SurveyTorchZip(source, {}));
  ASSERT_EQ(catalog.findings.size(), 1U);
  EXPECT_EQ(catalog.findings[0].id, "torch.uncertain-key");
  EXPECT_EQ(catalog.findings[0].severity, Severity::kWarning);
  EXPECT_EQ(catalog.findings[0].key, "colours.m.Colour(1)");
  EXPECT_NE(catalog.findings[0].message.find("[\"colours\"][\"m.Colour(1)\"] and 2 more"), std::string::npos)
      << catalog.findings[0].message;
  EXPECT_EQ(catalog.entries.size(), 4U);
}

TEST(TorchSurvey, SharesObjectsThatAreThereTwice) {
  pickle::Document document;
  const pickle::Value list = document.List();
  const pickle::Value root = document.Dict();
  document.SetItem(root, document.String("a"), list);
  document.SetItem(root, document.String("b"), list);
  const MemorySource source = zip::AsSource(SaveTorch(root, {}));
  const Catalog catalog = Value(SurveyTorchZip(source, {}));
  EXPECT_EQ(catalog.objects.at(0).value, catalog.objects.at(1).value);
}

TEST(TorchSurvey, StopsWhenAsked) {
  std::stop_source stop;
  stop.request_stop();
  const MemorySource source = zip::AsSource(TwoTensors({.items = 1}, {"four", "four"}));
  EXPECT_EQ(ErrorOf(SurveyTorchZip(source, {.stop = stop.get_token()})).kind(), ErrorKind::kCancelled);
}

}  // namespace
}  // namespace dcpctl::torch
