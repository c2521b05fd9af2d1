#include "ops/manifest_file.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/quote.h"
#include "base/result.h"
#include "ops/parse_json.h"

namespace dcpctl::ops {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "dcpctl.manifest/1";
constexpr const char* kOwnDigest = "manifest_sha256";

// Text that is not UTF-8 gets replacement characters.
std::string Dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json EntryJson(const ManifestEntry& entry) {
  Json json = {{"key", entry.key}};
  if (entry.is_tensor) {
    json["dtype"] = entry.dtype;
    json["shape"] = entry.shape;
    json["bytes"] = entry.bytes;
  }
  json["sha256"] = ToHex(entry.digest);
  return json;
}

Json FileJson(const ManifestFile& file) {
  return {{"path", file.path}, {"bytes", file.bytes}, {"sha256", ToHex(file.digest)}};
}

// Of the document without its own digest, spaces and line breaks.
std::string OwnDigest(const Json& document) {
  Json rest = document;
  rest.erase(kOwnDigest);
  return ToHex(Sha256Of(Dump(rest)));
}

// One item a line.
std::string ListText(const Json& list) {
  std::string text = "[";
  for (const Json& item : list) text += (text.size() == 1 ? "\n    " : ",\n    ") + Dump(item);
  return text + (text.size() == 1 ? "]" : "\n  ]");
}

// Reads members of an object; remembers whether all were what they have to be.
class Members {
 public:
  explicit Members(const Json& object) : object_(object) {}

  std::string Text(const char* name) {
    const auto at = object_.find(name);
    if (Check(at != object_.end() && at->is_string())) return at->get<std::string>();
    return {};
  }
  uint64_t Number(const char* name) {
    const auto at = object_.find(name);
    return Check(at != object_.end() && at->is_number_unsigned()) ? at->get<uint64_t>() : 0;
  }
  Dims Numbers(const char* name) {
    Dims dims;
    const auto at = object_.find(name);
    if (!Check(at != object_.end() && at->is_array())) return dims;
    for (const Json& item : *at) {
      if (Check(item.is_number_unsigned())) dims.push_back(item.get<uint64_t>());
    }
    return dims;
  }
  Sha256Digest Digest(const char* name) {
    const auto digest = DigestFromHex(Text(name));
    Check(digest.has_value());
    return digest.value_or(Sha256Digest{});
  }
  [[nodiscard]] bool Has(const char* name) const { return object_.contains(name); }
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  bool Check(bool fact) {
    ok_ = ok_ && fact;
    return fact;
  }

  const Json& object_;
  bool ok_ = true;
};

std::optional<ManifestEntry> ReadEntry(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  Members members(json);
  ManifestEntry entry{.key = members.Text("key"), .is_tensor = members.Has("dtype")};
  if (entry.is_tensor) {
    entry.dtype = members.Text("dtype");
    entry.shape = members.Numbers("shape");
    entry.bytes = members.Number("bytes");
  }
  entry.digest = members.Digest("sha256");
  return members.ok() ? std::optional(std::move(entry)) : std::nullopt;
}

std::optional<ManifestFile> ReadFile(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  Members members(json);
  ManifestFile file{.path = members.Text("path"), .bytes = members.Number("bytes"), .digest = members.Digest("sha256")};
  return members.ok() ? std::optional(std::move(file)) : std::nullopt;
}

// Fills `out` from a list; false when it is none, or an item is not what it has to be.
template <typename T>
bool ReadList(const Json& document, const char* name, std::optional<T> (*read)(const Json&), std::vector<T>& out) {
  const auto list = document.find(name);
  if (list == document.end() || !list->is_array()) return false;
  for (const Json& item : *list) {
    auto value = read(item);
    if (!value) return false;
    out.push_back(*std::move(value));
  }
  return true;
}

}  // namespace

std::string RenderManifest(const Manifest& manifest) {
  Json document = {{"schema", kSchema}, {"format", manifest.format}};
  Json& entries = document["entries"] = Json::array();
  for (const ManifestEntry& entry : manifest.entries) entries.push_back(EntryJson(entry));
  Json& files = document["files"] = Json::array();
  for (const ManifestFile& file : manifest.files) files.push_back(FileJson(file));
  return "{\n  \"schema\": " + Dump(document["schema"]) + ",\n  \"format\": " + Dump(document["format"]) +
         ",\n  \"entries\": " + ListText(entries) + ",\n  \"files\": " + ListText(files) + ",\n  \"" + kOwnDigest +
         "\": \"" + OwnDigest(document) + "\"\n}\n";
}

Result<Manifest> ParseManifest(std::string_view text, const std::string& file) {
  const auto fail = [&](std::string message) {
    return Fail(Error(ErrorKind::kCorrupt, Place{.file = file}, std::move(message)));
  };
  auto parsed = ParseJson(text, file, "a manifest");
  if (!parsed) return Fail(std::move(parsed).error().At({.file = file}));
  const Json& document = *parsed;
  if (!document.is_object()) return fail("this is no JSON object, expected a manifest");
  const auto schema = document.find("schema");
  if (schema == document.end() || *schema != kSchema)
    return fail("schema is " + (schema == document.end() ? "missing" : Escape(Dump(*schema))) + ", expected \"" +
                kSchema + "\"");
  const auto own = document.find(kOwnDigest);
  if (own == document.end() || !own->is_string())
    return fail("its own digest is missing, expected " + std::string(kOwnDigest));
  if (const std::string found = OwnDigest(document); *own != found) {
    return fail("its own digest is " + Quote(own->get<std::string>()) + ", expected " + found +
                " of what is in it: it was changed after it was written");
  }
  Manifest manifest;
  Members members(document);
  manifest.format = members.Text("format");
  if (!members.ok()) return fail("format is no text, expected one");
  if (!ReadList<ManifestEntry>(document, "entries", ReadEntry, manifest.entries) ||
      !ReadList<ManifestFile>(document, "files", ReadFile, manifest.files))
    return fail("an entry or file is not as a manifest lists them");
  return manifest;
}

}  // namespace dcpctl::ops
