#include "report/value.h"

#include <cmath>

#include "dcpctl/box.h"
#include "dcpctl/dtype.h"
#include "text/display.h"

namespace dcpctl::report {
namespace {

using pickle::Kind;
using pickle::Value;

// A value is cut beyond these: containers that are shared again and again could take exponentially much.
constexpr size_t kMaxTextBytes = size_t{1} << 20;
constexpr int kMaxValueDepth = 100;
constexpr size_t kMaxNodes = 1'000'000;
// Text counts as a node for each of so many bytes.
constexpr size_t kTextBytesPerNode = 16;
const char* const kCut = "...";

std::optional<Dims> ReadDims(Value tuple) {
  if (!tuple.Is(Kind::kTuple) && !tuple.Is(Kind::kList)) return std::nullopt;
  Dims dims;
  for (size_t i = 0; i < tuple.size(); ++i) {
    if (!tuple[i].Is(Kind::kInt) || tuple[i].AsInt() < 0) return std::nullopt;
    dims.push_back(static_cast<uint64_t>(tuple[i].AsInt()));
  }
  return dims;
}

// Of the storage's class, or the type that follows it in the newer call.
std::string DTypeText(Value args, bool typed) {
  if (typed && args.size() > 6 && args[6].Is(Kind::kGlobal)) return std::string(args[6].name());
  const Value storage = args[0];
  if (!storage.Is(Kind::kPersistentId) || !storage.persistent_id().Is(Kind::kTuple)) return {};
  const Value id = storage.persistent_id();
  if (id.size() < 2 || !id[1].Is(Kind::kGlobal)) return {};
  const auto dtype = DTypeFromStorageClass(id[1].name());
  return dtype ? std::string(Name(*dtype)) : std::string(id[1].name());
}

// "tensor(float32, [3, 4])" for a call of PyTorch's own rebuild functions; empty for anything else.
std::string DescribeTensor(Value value) {
  const bool typed = value.IsCallOf("torch._utils", "_rebuild_tensor_v3");
  if (!typed && !value.IsCallOf("torch._utils", "_rebuild_tensor_v2") &&
      !value.IsCallOf("torch._utils", "_rebuild_tensor"))
    return {};
  const Value args = value.args();
  if (!args.Is(Kind::kTuple) || args.size() < 4) return {};
  const auto shape = ReadDims(args[2]);
  const std::string dtype = DTypeText(args, typed);
  if (!shape || dtype.empty()) return {};
  return "tensor(" + dtype + ", " + ToString(DimsView(*shape)) + ")";
}

class JsonMaker {
 public:
  Json Make(Value value, int depth = 0) {
    if (++nodes_ > kMaxNodes || depth > kMaxValueDepth) return kCut;
    switch (value.kind()) {
      case Kind::kNone: return nullptr;
      case Kind::kBool: return value.AsBool();
      case Kind::kInt: return value.AsInt();
      case Kind::kFloat: return std::isfinite(value.AsFloat()) ? Json(value.AsFloat()) : Json(ValueText(value));
      case Kind::kString: return Counted(std::string(value.AsText()));
      case Kind::kTuple:
      case Kind::kList: return List(value, depth);
      case Kind::kDict: return Dict(value, depth);
      default: return Counted(ValueText(value));
    }
  }

 private:
  std::string Counted(std::string text) {
    nodes_ += text.size() / kTextBytesPerNode;
    return text;
  }

  Json List(Value value, int depth) {
    Json list = Json::array();
    for (size_t i = 0; i < value.size() && nodes_ <= kMaxNodes; ++i) list.push_back(Make(value[i], depth + 1));
    return list;
  }

  Json Dict(Value value, int depth) {
    Json dict = Json::object();
    // Not dict[...], which looks every key up from the front.
    auto& members = dict.get_ref<Json::object_t&>();
    for (size_t i = 0; i < value.size() && nodes_ <= kMaxNodes; ++i)
      members.emplace_back(KeyText(value.key(i)), Make(value.value(i), depth + 1));
    return dict;
  }

  static std::string KeyText(Value key) {
    switch (key.kind()) {
      case Kind::kString: return std::string(key.AsText());
      case Kind::kNone: return "null";
      case Kind::kBool: return key.AsBool() ? "true" : "false";
      default: return ValueText(key);
    }
  }

  size_t nodes_ = 0;
};

}  // namespace

std::string ValueText(Value value) {
  return text::Printable(
      pickle::Print(value, {.max_bytes = kMaxTextBytes, .max_items = SIZE_MAX, .describe = DescribeTensor}));
}

Json ValueJson(Value value) { return JsonMaker().Make(value); }

}  // namespace dcpctl::report
