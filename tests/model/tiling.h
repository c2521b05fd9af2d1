// Random shapes and ways to cut them into boxes, and walks over all elements of a box. For tests that compare with
// arithmetic done the long way.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "dcpctl/box.h"

namespace dcpctl::test {

using Random = std::mt19937;

// From `low` to `high`, both possible. The same on every system, unlike the distributions of <random>.
uint64_t Pick(Random& random, uint64_t low, uint64_t high);

// Up to `max_rank` dimensions (perhaps none) of 1 to `max_size` each.
Dims RandomShape(Random& random, uint64_t max_rank, uint64_t max_size);

// Cuts `shape` in two at a random place, and the parts again, up to `cuts` times in all. Boxes in random order.
std::vector<Box> RandomTiling(Random& random, DimsView shape, uint64_t cuts);

// A tiling by a regular grid; `parts` pieces along each dimension, uneven where it does not divide.
std::vector<Box> GridTiling(DimsView shape, DimsView parts);

// Calls `visit(position)` for each position in [0, sizes), the last dimension fastest.
void ForEachPosition(DimsView sizes, const std::function<void(DimsView)>& visit);

// sum(position * stride)
uint64_t Dot(DimsView position, DimsView strides);

}  // namespace dcpctl::test
