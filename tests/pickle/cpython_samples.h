// A table of pickles as CPython writes them, with what they hold.
#pragma once

#include <span>
#include <string_view>

namespace dcpctl::pickle {

struct Sample {
  std::string_view expression;
  int protocol;
  std::string_view hex;
  std::string_view printed;
  std::string_view type_name;
};

std::span<const Sample> CPythonSamples();

}  // namespace dcpctl::pickle
