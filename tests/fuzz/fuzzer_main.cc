// libFuzzer's entry point for the target DCPCTL_FUZZ_TARGET.
#include <cstddef>
#include <cstdint>
#include <span>

#include "fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  dcpctl::fuzz::DCPCTL_FUZZ_TARGET(std::as_bytes(std::span(data, size)));
  return 0;
}
