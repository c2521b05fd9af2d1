#include "ops/layout_file.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/nearest.h"
#include "base/quote.h"
#include "base/result.h"
#include "ops/parse_json.h"

namespace dcpctl::ops {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSchema = "dcpctl.layout/1";

// Where in the document.
std::string Child(const std::string& pointer, std::string_view name) {
  std::string escaped;
  for (const char c : name) escaped += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return pointer + "/" + escaped;
}
std::string Child(const std::string& pointer, size_t index) { return pointer + "/" + std::to_string(index); }

Error At(const std::string& pointer, Error error) {
  return std::move(error).In("at " + (pointer.empty() ? "the top" : Escape(pointer)));
}

Error Corrupt(const std::string& pointer, const std::string& message) {
  return At(pointer, Error(ErrorKind::kCorrupt, message));
}

// An error about options, which here are the contents of a file.
Error FromOption(const std::string& pointer, const Error& error) {
  return Corrupt(pointer, error.Text()).Advise(error.advice());
}

// What a value is, for messages.
std::string Describe(const Json& value) {
  if (value.is_string()) return Quote(value.get_ref<const std::string&>());
  if (value.is_object() || value.is_array()) return std::string("an ") + value.type_name();
  return value.dump();
}

Result<void> CheckMembers(const Json& object, const std::string& pointer, std::initializer_list<const char*> known) {
  const std::vector<std::string> names(known.begin(), known.end());
  if (!object.is_object()) return Fail(Corrupt(pointer, Describe(object) + ", expected an object"));
  for (const auto& [name, value] : object.items()) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    std::string expected;
    for (const std::string& one : names) expected += (expected.empty() ? "" : ", ") + Quote(one);
    const std::vector<std::string> near = NearestNames(name, names, 1);
    Error error = Corrupt(Child(pointer, name), "unknown member " + Quote(name) + ", expected " + expected);
    return Fail(near.empty() ? std::move(error) : std::move(error).Advise("did you mean " + Quote(near[0]) + "?"));
  }
  return {};
}

Result<std::string> StringMember(const Json& object, const std::string& pointer, const std::string& name) {
  const auto found = object.find(name);
  if (found == object.end()) return Fail(Corrupt(pointer, "no member " + Quote(name) + ", expected a string"));
  if (!found->is_string()) return Fail(Corrupt(Child(pointer, name), Describe(*found) + ", expected a string"));
  return found->get<std::string>();
}

Result<uint64_t> SizeOf(const Json& value, const std::string& pointer) {
  if (!value.is_number_unsigned())
    return Fail(Corrupt(pointer, Describe(value) + ", expected a size: an integer from 1 on"));
  return value.get<uint64_t>();
}

Result<std::vector<MeshDim>> ReadMeshDims(const Json& value, const std::string& pointer) {
  std::vector<MeshDim> dims;
  if (value.is_object()) {
    for (const auto& [name, size] : value.items()) {
      DCPCTL_ASSIGN(const uint64_t count, SizeOf(size, Child(pointer, name)));
      dims.push_back({.name = name, .size = count});
    }
    return dims;
  }
  if (!value.is_array())
    return Fail(Corrupt(pointer, Describe(value) + ", expected {\"NAME\": SIZE, ...} or [[\"NAME\", SIZE], ...]"));
  for (size_t i = 0; i < value.size(); ++i) {
    const std::string place = Child(pointer, i);
    if (!value[i].is_array() || value[i].size() != 2 || !value[i][0].is_string())
      return Fail(Corrupt(place, Describe(value[i]) + ", expected [\"NAME\", SIZE]"));
    DCPCTL_ASSIGN(const uint64_t count, SizeOf(value[i][1], Child(place, 1)));
    dims.push_back({.name = value[i][0].get<std::string>(), .size = count});
  }
  return dims;
}

Result<DeviceMesh> ReadMesh(const Json& top, const Limits& limits) {
  const auto found = top.find("mesh");
  if (found == top.end()) return Fail(Corrupt("", "no member \"mesh\", expected {\"NAME\": SIZE, ...}"));
  DCPCTL_ASSIGN(std::vector<MeshDim> dims, ReadMeshDims(*found, "/mesh"));
  auto mesh = DeviceMesh::Make(std::move(dims), limits);
  if (!mesh) return Fail(FromOption("/mesh", mesh.error()));
  return mesh;
}

Result<PlacementRule> ReadRule(const Json& value, const std::string& pointer, const DeviceMesh& mesh,
                               const std::string& file) {
  DCPCTL_TRY(CheckMembers(value, pointer, {"match", "placement"}));
  DCPCTL_ASSIGN(std::string pattern, StringMember(value, pointer, "match"));
  DCPCTL_ASSIGN(const std::string text, StringMember(value, pointer, "placement"));
  auto placements = ParsePlacements(text, mesh);
  if (!placements) return Fail(FromOption(Child(pointer, "placement"), placements.error()));
  return PlacementRule{
      .pattern = std::move(pattern), .placements = *std::move(placements), .origin = pointer + " of " + Quote(file)};
}

Result<MeshLayout> ReadLayout(const Json& top, const std::string& file, const Limits& limits) {
  DCPCTL_TRY(CheckMembers(top, "", {"schema", "mesh", "placements", "default"}));
  DCPCTL_ASSIGN(const std::string schema, StringMember(top, "", "schema"));
  if (schema != kSchema)
    return Fail(
        At("/schema", Error(ErrorKind::kUnsupported, "schema " + Quote(schema) + ", expected " + Quote(kSchema))));
  MeshLayout layout;
  DCPCTL_ASSIGN(layout.mesh, ReadMesh(top, limits));
  if (const auto rules = top.find("placements"); rules != top.end()) {
    if (!rules->is_array()) return Fail(Corrupt("/placements", Describe(*rules) + ", expected an array"));
    for (size_t i = 0; i < rules->size(); ++i) {
      DCPCTL_ASSIGN(PlacementRule rule, ReadRule((*rules)[i], Child("/placements", i), layout.mesh, file));
      layout.rules.push_back(std::move(rule));
    }
  }
  layout.fallback = DefaultRule(layout.mesh);
  if (!top.contains("default")) return layout;
  DCPCTL_ASSIGN(const std::string text, StringMember(top, "", "default"));
  auto placements = ParsePlacements(text, layout.mesh);
  if (!placements) return Fail(FromOption("/default", placements.error()));
  layout.fallback.placements = *std::move(placements);
  layout.fallback.origin = "/default of " + Quote(file);
  return layout;
}

}  // namespace

Result<MeshLayout> ReadLayoutFile(const ByteSource& file, const Limits& limits) {
  if (file.size() > limits.layout_bytes)
    return Fail(Place{.file = file.name()}, ErrorKind::kLimit,
                std::to_string(file.size()) + " bytes, expected a layout of " + std::to_string(limits.layout_bytes) +
                    " at most");
  DCPCTL_ASSIGN(const std::vector<std::byte> bytes, ReadRange(file, 0, file.size()));
  auto json = ParseJson({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file.name(), "a layout");
  if (!json) return Fail(std::move(json).error().At({.file = file.name()}));
  auto layout = ReadLayout(*json, file.name(), limits);
  if (!layout) return Fail(std::move(layout).error().At({.file = file.name()}));
  return layout;
}

}  // namespace dcpctl::ops
