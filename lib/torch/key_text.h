// The name that a dict key gets in DCP: what Python's str() makes of it. Known for numbers, text, tuples of them
// and some small types; what str() of another object is only its class can tell.
#pragma once

#include <cstddef>
#include <string>

#include "dcpctl/pickle.h"

namespace dcpctl::torch {

struct KeyText {
  std::string text;
  std::string printed = {};  // of an object, pickle::Print: objects that are not equal may have one text
  bool is_certain = true;    // otherwise `text` is as pickle::Print has it
};

// A text of more than `max_bytes` is cut, but is longer than that.
KeyText TextOfKey(pickle::Value key, size_t max_bytes);

}  // namespace dcpctl::torch
