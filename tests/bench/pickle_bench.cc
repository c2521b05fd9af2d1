// Reads and writes a synthetic `.metadata` pickle with the shape of a sharded checkpoint's, made as CPython
// makes it (protocol 4, everything in the memo): `pickle_bench [chunks]`. Prints the fastest and the median
// of the runs in MB/s, and memory per byte of input.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dcpctl/pickle.h"
#include "pickle/opcodes.h"
#include "pickle/reader.h"

namespace {

using namespace dcpctl::pickle;

constexpr uint64_t kRanks = 64;
constexpr int kRuns = 7;
constexpr const char* kMetadata = "torch.distributed.checkpoint.metadata";

class MetadataPickle {
 public:
  static std::string Make(uint64_t chunks) {
    MetadataPickle pickle;
    pickle.Root(std::max<uint64_t>(1, chunks / kRanks));
    return std::move(pickle.bytes_);
  }

 private:
  void Emit(Op op) { bytes_ += static_cast<char>(op); }
  void Number(Op op, uint64_t value, int width) {
    Emit(op);
    for (int i = 0; i < width; ++i) bytes_ += static_cast<char>(value >> (8 * i));
  }
  uint64_t Memoize() {
    Emit(Op::kMemoize);
    return memo_count_++;
  }
  void Get(uint64_t index) { index < 256 ? Number(Op::kBinGet, index, 1) : Number(Op::kLongBinGet, index, 4); }
  void Int(uint64_t value) {
    if (value < 1 << 8) return Number(Op::kBinInt1, value, 1);
    if (value < 1 << 16) return Number(Op::kBinInt2, value, 2);
    if (value < uint64_t{1} << 31) return Number(Op::kBinInt, value, 4);
    Number(Op::kLong1, 6, 1);
    for (int i = 0; i < 6; ++i) bytes_ += static_cast<char>(value >> (8 * i));
  }
  void NewString(const std::string& text) {
    Number(Op::kShortBinUnicode, text.size(), 1);
    bytes_ += text;
    Memoize();
  }
  // Strings that the program has once.
  void String(const std::string& text) {
    const auto [known, is_new] = strings_.try_emplace(text, memo_count_);
    is_new ? NewString(text) : Get(known->second);
  }
  void Global(const std::string& module, const std::string& name) {
    const auto known = globals_.find(module + "\n" + name);
    if (known != globals_.end()) return Get(known->second);
    String(module);
    String(name);
    Emit(Op::kStackGlobal);
    globals_[module + "\n" + name] = Memoize();
  }
  void Size(uint64_t rows, uint64_t columns) {
    Global("torch", "Size");
    Int(rows);
    Int(columns);
    for (const Op op : {Op::kTuple2, Op::kTuple1, Op::kReduce}) Emit(op), Memoize();
  }
  // A dataclass: `attributes` writes names and values in turn.
  void Instance(const std::string& module, const std::string& name, const std::function<void()>& attributes) {
    Global(module, name);
    Emit(Op::kEmptyTuple);
    Emit(Op::kNewObj);
    Memoize();
    Dict(attributes);
    Emit(Op::kBuild);
  }
  void Dict(const std::function<void()>& pairs) {
    Emit(Op::kEmptyDict);
    Memoize();
    Emit(Op::kMark);
    pairs();
    Emit(Op::kSetItems);
  }

  static std::string Name(uint64_t tensor) {
    return "model.layers." + std::to_string(tensor / 9) + ".self_attn.projection_" + std::to_string(tensor % 9) +
           ".weight";
  }

  void Root(uint64_t tensors) {
    Number(Op::kProto, 4, 1);
    Instance(kMetadata, "Metadata", [&] {
      String("state_dict_metadata");
      Dict([&] {
        for (uint64_t tensor = 0; tensor < tensors; ++tensor) Tensor(tensor);
      });
      String("storage_data");
      Dict([&] {
        for (uint64_t rank = 0; rank < kRanks; ++rank) Storage(rank, tensors);
      });
    });
    Emit(Op::kStop);
  }

  void Tensor(uint64_t tensor) {
    NewString(Name(tensor));
    Instance(kMetadata, "TensorStorageMetadata", [&] {
      String("size");
      Size(8192, 8192);
      String("chunks");
      Emit(Op::kEmptyList);
      Memoize();
      Emit(Op::kMark);
      for (uint64_t rank = 0; rank < kRanks; ++rank) {
        Instance(kMetadata, "ChunkStorageMetadata", [&] {
          String("offsets");
          Size(rank * 128, 0);
          String("sizes");
          Size(128, 8192);
        });
      }
      Emit(Op::kAppends);
    });
  }

  // Each process sends its own names, so they are not shared with those above.
  void Storage(uint64_t rank, uint64_t tensors) {
    for (uint64_t tensor = 0; tensor < tensors; ++tensor) {
      Instance(kMetadata, "MetadataIndex", [&] {
        String("fqn");
        NewString(Name(tensor));
        String("index");
        Int(rank);
        String("offset");
        Size(rank * 128, 0);
      });
      Instance("torch.distributed.checkpoint.filesystem", "_StorageInfo", [&] {
        String("relative_path");
        String("__" + std::to_string(rank) + "_0.distcp");
        String("offset");
        Int(tensor * 2'098'476);
        String("length");
        Int(2'098'476);
      });
    }
  }

  std::string bytes_;
  uint64_t memo_count_ = 0;
  std::map<std::string, uint64_t> strings_;
  std::map<std::string, uint64_t> globals_;
};

void Require(bool condition) {
  if (condition) return;
  std::fputs("pickle_bench: failed\n", stderr);
  std::exit(1);
}

// `run` returns the number of bytes that it handled.
void Measure(const char* what, const std::function<size_t()>& run) {
  std::vector<double> rates;
  run();
  for (int i = 0; i < kRuns; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const size_t bytes = run();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    rates.push_back(static_cast<double>(bytes) / 1e6 / seconds.count());
  }
  std::ranges::sort(rates);
  std::printf("%-18s fastest %7.1f MB/s, median %7.1f MB/s\n", what, rates.back(), rates[rates.size() / 2]);
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t chunks = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 200'000;
  const std::string pickle = MetadataPickle::Make(chunks);
  const auto bytes = std::as_bytes(std::span(pickle));
  std::printf("%llu chunks, %zu bytes\n", static_cast<unsigned long long>(chunks), pickle.size());

  const ReadOptions options;
  Reader reader(bytes, options);
  uint64_t consumed = 0;
  const dcpctl::Result<Document> document = reader.Run(&consumed);
  Require(document.has_value() && consumed == pickle.size());
  const auto per_byte = [&](size_t memory) { return static_cast<double>(memory) / static_cast<double>(pickle.size()); };
  std::printf("memory per byte of input: nodes %.2f, and %.2f more while reading\n", per_byte(document->memory_bytes()),
              per_byte(reader.memory_bytes()));

  // The floor: a pass over the bytes.
  Measure("sum of bytes", [&] {
    uint32_t sum = 0;
    for (const char byte : pickle) sum += static_cast<unsigned char>(byte);
    Require(sum != 1);
    return pickle.size();
  });
  Measure("read", [&] {
    Require(ReadPickle(bytes, options).has_value());
    return pickle.size();
  });
  for (const int protocol : {2, 4}) {
    Measure(protocol == 2 ? "write, protocol 2" : "write, protocol 4",
            [&] { return WritePickle(document->root(), WriteOptions{.protocol = protocol}).value().size(); });
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("peak of the process: %ld MiB\n", usage.ru_maxrss / 1024);
  return 0;
}
