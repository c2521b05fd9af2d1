#include "report/style.h"

#include "text/numbers.h"

namespace dcpctl::report {
namespace {

std::string_view CodeOf(Ink ink) {
  switch (ink) {
    case Ink::kBold: return "1";
    case Ink::kFaint: return "2";
    case Ink::kRed: return "1;31";
    case Ink::kYellow: return "1;33";
    case Ink::kCyan: return "36";
  }
  return "0";
}

}  // namespace

std::string Paint(std::string_view text, Ink ink, const TextStyle& style) {
  if (!style.color) return std::string(text);
  return "\x1b[" + std::string(CodeOf(ink)) + "m" + std::string(text) + "\x1b[0m";
}

std::string Plural(uint64_t count, std::string_view noun) {
  const std::string number = text::FormatCount(count) + " ";
  if (count == 1) return number + std::string(noun);
  if (noun.ends_with("ry")) return number + std::string(noun.substr(0, noun.size() - 1)) + "ies";
  return number + std::string(noun) + "s";
}

}  // namespace dcpctl::report
