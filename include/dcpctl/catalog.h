// What a checkpoint contains, whatever its format: files, tensors made of chunks, and objects. A plain
// value that a survey makes and planners read. Keys, shapes and boxes lie in pools of the catalog, because a
// large checkpoint has millions of them: a Tensor or an Object is valid as long as its catalog, or a copy of it, lives.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "dcpctl/box.h"
#include "dcpctl/dtype.h"
#include "dcpctl/finding.h"
#include "dcpctl/pickle.h"

namespace dcpctl {

enum class Format : uint8_t { kDcp, kTorch };
[[nodiscard]] std::string_view Name(Format format);  // "dcp", "torch"

// One step from a container to what it holds: a mapping key or a list position.
using PathElement = std::variant<std::string, uint64_t>;
using KeyPath = std::vector<PathElement>;

struct SourceFile {
  std::string path;  // relative to Catalog::root; empty when the root is the file itself
  uint64_t bytes = 0;
  std::optional<uint64_t> rank = std::nullopt;    // the writing rank, told from the name
  std::optional<uint64_t> bucket = std::nullopt;  // the writer's file counter, likewise
  uint64_t entries = 0;                           // chunks and objects in it
  bool referenced = false;                        // by the metadata, or being metadata itself
  int64_t mtime_ns = 0;                           // with bytes: told apart when it changes during a run
  bool missing = false;                           // referenced and not there
};

// How the bytes of a chunk are wrapped, beyond lying in a file.
enum class Codec : uint8_t {
  kNone,     // `offset` is a place in the file
  kZstd,     // the whole record is one zstd stream; `offset` is a place in the decoded record
  kDeflate,  // `offset` is where the raw deflate stream begins; its decoded bytes are the storage
};

// Where the elements of a chunk lie, after a survey of extents. Element i0,i1,... is number
// first_element + sum(i * stride) of the storage.
struct StoredTensor {
  uint64_t offset = 0;         // first byte of the storage; see Codec
  uint64_t bytes = 0;          // length of the storage, decoded
  uint64_t encoded_bytes = 0;  // kDeflate: length of the stream
  uint64_t first_element = 0;
  uint32_t crc = 0;  // CRC-32 of the storage as its writer recorded it
  bool crc_known = false;
  bool big_endian = false;
  Codec codec = Codec::kNone;
};

// The metadata promises an entry and does not say where it is.
inline constexpr uint32_t kNoFile = UINT32_MAX;

// One stored part of a tensor.
struct Chunk {
  uint64_t dims = 0;    // in the pool: offsets[rank], sizes[rank], then strides[rank] once surveyed
  uint64_t offset = 0;  // of its record (a whole archive) in the file
  uint64_t length = 0;
  uint32_t file = kNoFile;
  uint32_t transforms = 0;  // index into Catalog::transform_chains; 0 is none
  StoredTensor stored;
  bool surveyed = false;  // `stored` and the strides are there
};

// The sizes of a tensor, in a pool: how many there are, then they. A pointer long; read as the DimsView that it is.
class Shape {
 public:
  Shape() = default;  // of a 0-d tensor
  // `counted` outlives the Shape.
  explicit Shape(const uint64_t* counted) : counted_(counted) {}

  operator DimsView() const { return {counted_ + 1, size()}; }  // NOLINT(google-explicit-constructor)
  [[nodiscard]] size_t size() const { return counted_[0]; }
  [[nodiscard]] const uint64_t* begin() const { return counted_ + 1; }
  [[nodiscard]] const uint64_t* end() const { return begin() + size(); }
  uint64_t operator[](size_t dim) const { return begin()[dim]; }
  [[nodiscard]] Dims Copy() const { return {begin(), end()}; }
  friend bool operator==(Shape a, Shape b) { return a == DimsView(b); }
  friend bool operator==(Shape a, DimsView b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

 private:
  static constexpr uint64_t kNone = 0;
  const uint64_t* counted_ = &kNone;
};

// Most entries lie at the top: their path is their key alone.
inline constexpr uint32_t kKeyIsPath = UINT32_MAX;

struct Tensor {
  std::string_view key;
  Shape shape;
  uint32_t path = kKeyIsPath;  // into Catalog::paths; see KeyPathOf
  uint32_t first_chunk = 0;
  uint32_t chunk_count = 0;
  DType dtype = DType::kFloat32;
  bool requires_grad = false;
  // The type of the elements in its chunks, when `dtype` is one that they are still to be converted to.
  std::optional<DType> stored_dtype = std::nullopt;
};

// The storage of a tensor inside an object, and the record that it is read from.
struct ObjectStorage {
  std::string key;  // as the object's pickle names it
  StoredTensor stored;
  uint32_t swap_unit = 1;  // bytes to be turned around when it is big-endian
  uint32_t file = 0;
  uint64_t record_offset = 0;
  uint64_t record_length = 0;
};

// An object as data: its pickle and the storages it refers to.
struct ObjectValue {
  pickle::Document document;
  std::vector<ObjectStorage> storages;
};

// Anything that is not a tensor.
struct Object {
  std::string_view key;
  uint64_t offset = 0;  // of its record in the file
  uint64_t length = 0;
  uint32_t path = kKeyIsPath;  // as of a Tensor
  uint32_t file = kNoFile;
  uint32_t transforms = 0;
  std::shared_ptr<const ObjectValue> value = nullptr;  // once surveyed
};

// An entry in the order in which the checkpoint lists it.
struct EntryRef {
  EntryRef() : EntryRef(false, 0) {}
  EntryRef(bool tensor, size_t place) : is_tensor(tensor), index(place & 0x7fffffff) {}

  bool is_tensor : 1;
  uint32_t index : 31;  // into tensors or objects
};

class CatalogPool;

struct Catalog {
  Format format = Format::kDcp;
  std::filesystem::path root;  // as the user gave it
  std::vector<SourceFile> files;
  std::vector<Tensor> tensors;
  std::vector<Object> objects;
  std::vector<EntryRef> entries;
  std::vector<KeyPath> paths;  // of entries that are not at the top
  // The order in which the state dict had them, where it is known to be another: numbers of entries, each once, not
  // always of all. A save lists first what its first rank wrote.
  std::vector<uint32_t> state_order;
  std::vector<Chunk> chunks;
  Dims dims;  // the pool
  std::vector<std::vector<std::string>> transform_chains = {{}};
  bool nested = false;                                       // paths come from the checkpoint itself
  std::vector<std::pair<std::string, std::string>> details;  // format_detail of the report
  Findings findings;
  uint64_t metadata_bytes = 0;
  std::shared_ptr<CatalogPool> pool = nullptr;  // keys and shapes; made when the first is added

  // Entries at the end, with a copy of the key in the pool; the references are good until the next one. Not
  // thread-safe, not even on two copies of one catalog, which share the pool.
  Tensor& AddTensor(std::string_view key, DType dtype, DimsView shape);
  Object& AddObject(std::string_view key);
  // For Tensor::path and Object::path.
  uint32_t AddPath(std::string_view key, KeyPath path);
  // Copies into the pool.
  std::string_view AddText(std::string_view text);
  Shape AddShape(DimsView sizes);

  [[nodiscard]] BoxView BoxOf(const Tensor& tensor, const Chunk& chunk) const {
    const DimsView all(dims);
    return {all.subspan(chunk.dims, tensor.shape.size()),
            all.subspan(chunk.dims + tensor.shape.size(), tensor.shape.size())};
  }
  [[nodiscard]] DimsView StridesOf(const Tensor& tensor, const Chunk& chunk) const {
    return DimsView(dims).subspan(chunk.dims + 2 * tensor.shape.size(), tensor.shape.size());
  }
  [[nodiscard]] std::span<const Chunk> ChunksOf(const Tensor& tensor) const {
    return std::span(chunks).subspan(tensor.first_chunk, tensor.chunk_count);
  }
  [[nodiscard]] std::string_view KeyOf(EntryRef entry) const {
    return entry.is_tensor ? tensors[entry.index].key : objects[entry.index].key;
  }
  // Of a Tensor or an Object.
  template <typename Entry>
  [[nodiscard]] KeyPath KeyPathOf(const Entry& entry) const {
    return entry.path == kKeyIsPath ? KeyPath{std::string(entry.key)} : paths[entry.path];
  }
  [[nodiscard]] KeyPath KeyPathOf(EntryRef entry) const {
    return entry.is_tensor ? KeyPathOf(tensors[entry.index]) : KeyPathOf(objects[entry.index]);
  }
};

// Path of a file of the catalog, for messages and for opening it.
[[nodiscard]] std::string PathOf(const Catalog& catalog, uint32_t file);
// "a.b.3": elements joined by dots, the way PyTorch makes flat keys.
[[nodiscard]] std::string JoinPath(const KeyPath& path);

}  // namespace dcpctl
