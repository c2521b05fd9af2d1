// The name that a dict key gets in DCP: what Python's str() makes of it. Known for numbers, text, tuples of them
// and some small types; what str() of another object is only its class can tell.
#pragma once

#include <string>

#include "dcpctl/pickle.h"

namespace dcpctl::torch {

struct KeyText {
  std::string text;
  bool is_certain = true;  // otherwise `text` is as pickle::Print has it
};

KeyText TextOfKey(pickle::Value key);

}  // namespace dcpctl::torch
