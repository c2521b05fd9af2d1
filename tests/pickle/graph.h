// Helpers of the tests here: reading text as a pickle, and comparing graphs with their sharing.
#pragma once

#include <string>
#include <string_view>

#include "dcpctl/pickle.h"

namespace dcpctl::pickle {

// Reads or throws. `pickle` must outlive the document.
Document MustRead(std::string_view pickle);
std::string MustWrite(Value root, int protocol);
std::string FromHex(std::string_view hex);

// The graph as text. A container, object or text that occurs again is named by the number of its first
// occurrence, so that two graphs have the same text just when they have the same shape. What protocol 2
// spells as a call (bytes, sets, keyword construction, dotted names) counts as what it stands for.
std::string Shape(Value root);

}  // namespace dcpctl::pickle
