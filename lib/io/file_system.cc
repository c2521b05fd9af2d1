#include "io/file_system.h"

#include <algorithm>

#include "base/quote.h"
#include "base/result.h"

namespace dcpctl::io {
namespace {

constexpr size_t kMostShown = 200;
constexpr size_t kMaxBytes = 4095;  // what Linux takes

tl::unexpected<Error> Refused(std::string_view relative, const std::string& why) {
  return Fail(ErrorKind::kCorrupt, "file name " + Quote(relative, kMostShown) + " " + why +
                                       ", expected a name inside the checkpoint directory");
}

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

}  // namespace

Result<void> CheckRelativeName(std::string_view relative) {
  if (relative.empty()) return Refused(relative, "is empty");
  if (relative.size() > kMaxBytes) return Refused(relative, "has " + std::to_string(relative.size()) + " bytes");
  if (relative.front() == '/') return Refused(relative, "is absolute");
  if (relative.back() == '/') return Refused(relative, "ends in a slash");
  if (std::any_of(relative.begin(), relative.end(), IsControl)) {
    return Refused(relative, "holds a control character");
  }
  for (size_t begin = 0; begin <= relative.size();) {
    const size_t end = std::min(relative.find('/', begin), relative.size());
    if (relative.substr(begin, end - begin) == "..") return Refused(relative, "holds a \"..\" part");
    begin = end + 1;
  }
  return {};
}

Result<bool> SameFile(FileSystem& files, const std::filesystem::path& a, const std::filesystem::path& b) {
  const auto first = files.Stat(a);
  if (!first && first.error().kind() != ErrorKind::kNotFound) return Fail(first.error());
  const auto second = files.Stat(b);
  if (!second && second.error().kind() != ErrorKind::kNotFound) return Fail(second.error());
  return first && second && first->id == second->id;
}

Result<bool> IsInside(FileSystem& files, const std::filesystem::path& path, const std::filesystem::path& directory) {
  DCPCTL_ASSIGN(const std::filesystem::path inner, files.RealPath(path));
  DCPCTL_ASSIGN(const std::filesystem::path outer, files.RealPath(directory));
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

}  // namespace dcpctl::io
