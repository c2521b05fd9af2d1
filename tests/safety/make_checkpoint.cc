// Makes a checkpoint that takes several writes to convert.
// usage: sample_checkpoint FOLDER MEBIBYTES
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "dcp/sample_checkpoint.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: " << argv[0] << " FOLDER MEBIBYTES\n";
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  const int64_t rows = std::strtol(argv[2], nullptr, 10) * 256;  // of 4 KiB
  dcpctl::dcp::SampleCheckpoint sample;
  sample.AddTensor("model.w", {"model", "w"}, {rows, 1024}, 0,
                   {{.offsets = {0, 0}, .sizes = {rows / 2, 1024}},
                    {.offsets = {rows / 2, 0}, .sizes = {rows - rows / 2, 1024}, .file = "__1_0.distcp"}});
  sample.AddInt("step", {"step"}, 7);
  std::filesystem::create_directories(folder);
  for (const auto& [name, bytes] : sample.Finish()) std::ofstream(folder / name, std::ios::binary) << bytes;
  return 0;
}
