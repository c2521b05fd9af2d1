#include "dcpctl/catalog.h"

#include <algorithm>
#include <utility>

#include "base/pool.h"
#include "dcpctl/verify.h"

namespace dcpctl {

class CatalogPool {
 public:
  std::string_view Copy(std::string_view text) {
    if (text.empty()) return {};
    char* const copy = text_.Add(text.size());
    std::copy(text.begin(), text.end(), copy);
    return {copy, text.size()};
  }

  // Neighbours mostly have the same: layers, and what an optimizer keeps for each parameter.
  Shape Copy(DimsView sizes) {
    if (last_ == sizes) return last_;
    uint64_t* const counted = dims_.Add(1 + sizes.size());
    counted[0] = sizes.size();
    std::copy(sizes.begin(), sizes.end(), counted + 1);
    return last_ = Shape(counted);
  }

 private:
  Pool<char> text_;
  Pool<uint64_t> dims_;
  Shape last_;
};

std::string_view Catalog::AddText(std::string_view text) {
  if (!pool) pool = std::make_shared<CatalogPool>();
  return pool->Copy(text);
}

Shape Catalog::AddShape(DimsView sizes) {
  if (!pool) pool = std::make_shared<CatalogPool>();
  return pool->Copy(sizes);
}

Tensor& Catalog::AddTensor(std::string_view key, DType dtype, DimsView shape) {
  entries.emplace_back(true, tensors.size());
  return tensors.emplace_back(Tensor{.key = AddText(key), .shape = AddShape(shape), .dtype = dtype});
}

Object& Catalog::AddObject(std::string_view key) {
  entries.emplace_back(false, objects.size());
  return objects.emplace_back(Object{.key = AddText(key)});
}

uint32_t Catalog::AddPath(std::string_view key, KeyPath path) {
  const auto* const only = path.size() == 1 ? std::get_if<std::string>(path.data()) : nullptr;
  if (only != nullptr && *only == key) return kKeyIsPath;
  paths.push_back(std::move(path));
  return static_cast<uint32_t>(paths.size() - 1);
}

std::string_view Name(Format format) { return format == Format::kDcp ? "dcp" : "torch"; }

std::string_view Name(VerifyLevel level) {
  switch (level) {
    case VerifyLevel::kStructure: return "structure";
    case VerifyLevel::kPayload: return "payload";
    case VerifyLevel::kValues: break;
  }
  return "values";
}

std::string_view Name(Severity severity) {
  switch (severity) {
    case Severity::kNote: return "note";
    case Severity::kWarning: return "warning";
    case Severity::kError: return "error";
  }
  return "error";
}

std::string PathOf(const Catalog& catalog, uint32_t file) {
  const std::string& path = catalog.files[file].path;
  return path.empty() ? catalog.root.string() : (catalog.root / path).string();
}

std::string JoinPath(const KeyPath& path) {
  std::string joined;
  for (const PathElement& element : path) {
    if (&element != path.data()) joined += '.';
    if (const auto* text = std::get_if<std::string>(&element)) {
      joined += *text;
    } else {
      joined += std::to_string(std::get<uint64_t>(element));
    }
  }
  return joined;
}

}  // namespace dcpctl
