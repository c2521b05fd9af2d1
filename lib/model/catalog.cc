#include "dcpctl/catalog.h"

#include "dcpctl/verify.h"

namespace dcpctl {

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
