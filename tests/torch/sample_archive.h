// Makes torch.save archives for tests.
#pragma once

#include <string>
#include <vector>

#include "dcpctl/box.h"
#include "dcpctl/pickle.h"

namespace dcpctl::torch {

// A whole archive around `root`; storage i has the key "i".
std::string SaveTorch(pickle::Value root, const std::vector<std::string>& storages);

struct SampleTensor {
  std::string storage_class = "FloatStorage";
  std::string key = "0";
  std::string location = "cpu";
  int64_t items = 0;
  int64_t offset = 0;
  std::vector<int64_t> shape = {};
  std::vector<int64_t> strides = {};
  bool requires_grad = false;
};

// Its _rebuild_tensor_v2 call.
pickle::Value MakeSample(pickle::Document& document, const SampleTensor& sample);
// Only the arguments, to be put into other calls.
std::vector<pickle::Value> SampleArguments(pickle::Document& document, const SampleTensor& sample);
pickle::Value MakeCall(pickle::Document& document, const std::string& module, const std::string& name,
                       const std::vector<pickle::Value>& args);

}  // namespace dcpctl::torch
