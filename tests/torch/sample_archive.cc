#include "tests/torch/sample_archive.h"

#include <utility>

#include "base/crc32.h"
#include "tests/support/result.h"
#include "torch/layout.h"

namespace dcpctl::torch {

using pickle::Document;
using test::Value;

std::string SaveTorch(pickle::Value root, const std::vector<std::string>& storages) {
  std::vector<NewStorage> planned;
  for (const std::string& storage : storages) planned.push_back({.bytes = storage.size()});
  const zip::ArchiveLayout layout = Value(MakeTorchLayout(Value(pickle::WritePickle(root)), planned));
  std::string bytes(layout.total_bytes, '?');
  for (const zip::Literal& literal : layout.literals) {
    bytes.replace(literal.offset, literal.bytes.size(), literal.bytes);
    for (const zip::CrcHole& hole : literal.holes) {
      const uint32_t crc = Crc32(test::BytesOf(storages[hole.slot]));
      for (size_t i = 0; i < 4; ++i) bytes[literal.offset + hole.pos + i] = static_cast<char>(crc >> (8 * i));
    }
  }
  for (const zip::PlacedSlot& slot : layout.slots) bytes.replace(slot.offset, slot.bytes, storages[slot.id]);
  return bytes;
}

namespace {

pickle::Value MakeInts(Document& document, const std::vector<int64_t>& values) {
  std::vector<pickle::Value> items;
  for (const int64_t value : values) items.push_back(document.Int(value));
  return document.Tuple(items);
}

}  // namespace

std::vector<pickle::Value> SampleArguments(Document& document, const SampleTensor& sample) {
  const pickle::Value id =
      document.Tuple({document.String("storage"), document.Global("torch", sample.storage_class),
                      document.String(sample.key), document.String(sample.location), document.Int(sample.items)});
  return {document.PersistentId(id),           document.Int(sample.offset),
          MakeInts(document, sample.shape),    MakeInts(document, sample.strides),
          document.Bool(sample.requires_grad), document.Call(document.Global("collections", "OrderedDict"), {})};
}

pickle::Value MakeCall(Document& document, const std::string& module, const std::string& name,
                       const std::vector<pickle::Value>& args) {
  return document.Object(pickle::Construct::kReduce, document.Global(module, name), document.Tuple(args));
}

pickle::Value MakeSample(Document& document, const SampleTensor& sample) {
  return MakeCall(document, "torch._utils", "_rebuild_tensor_v2", SampleArguments(document, sample));
}

}  // namespace dcpctl::torch
