#include "dcpctl/error.h"

#include "base/quote.h"

namespace dcpctl {

Error Error::At(Place place) && {
  if (place_.file.empty()) {
    place_ = std::move(place);
  } else if (!place_.offset && place_.file == place.file) {
    place_.offset = place.offset;
  }
  return std::move(*this);
}

Error Error::In(std::string context) && {
  context_.push_back(std::move(context));
  return std::move(*this);
}

Error Error::Advise(std::string advice) && {
  if (advice_.empty()) advice_ = std::move(advice);
  return std::move(*this);
}

std::string Error::Text() const {
  std::string text = message_;
  for (size_t i = 0; i < context_.size(); ++i) text += (i == 0 ? " (" : "; ") + context_[i];
  if (!context_.empty()) text += ")";
  return text;
}

std::string Error::ToString() const {
  std::string text = place_.file.empty() ? "dcpctl" : Escape(place_.file);
  if (place_.offset) text += ":" + Hex(*place_.offset);
  text += ": error: " + Text();
  if (!advice_.empty()) text += "\n  " + advice_;
  return text;
}

}  // namespace dcpctl
