#include "tests/engine/sample.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "plan/plan_builder.h"
#include "support/result.h"

namespace dcpctl::test {
namespace {

constexpr uint32_t kFiles = 3;
constexpr uint64_t kBlock = 4096;

std::string Deflate(const std::string& bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("deflateInit2");
  std::string out(deflateBound(&stream, bytes.size()) + 16, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) throw std::runtime_error("deflate");
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string Zstd(const std::string& bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 1));
  return out;
}

uint64_t StorageElements(const StoredChunk& chunk) {
  uint64_t last = chunk.first_element;
  for (size_t d = 0; d < chunk.strides.size(); ++d) last += (chunk.box.sizes[d] - 1) * chunk.strides[d];
  return last + 1 + chunk.spare_elements;
}

void SwapTheLongWay(std::string& item, uint64_t unit) {
  for (uint64_t i = 0; i < item.size(); i += unit) {
    for (uint64_t k = 0; k < unit / 2; ++k) std::swap(item[i + k], item[i + unit - 1 - k]);
  }
}

}  // namespace

uint32_t PlainCrc(std::string_view bytes) {
  return static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::string Little32(uint32_t value) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

Sample::Sample(uint32_t seed, std::optional<uint64_t> region_place) : random_(seed), region_place_(region_place) {
  catalog_.root = "/ckpt";
  for (uint32_t i = 0; i < kFiles; ++i) {
    catalog_.files.push_back({.path = "__" + std::to_string(i) + "_0.distcp"});
    contents_.push_back(RandomBytes(Pick(random_, 1, 100)));
  }
}

std::string Sample::RandomBytes(uint64_t count) {
  std::string bytes(count, '\0');
  for (uint64_t i = 0; i < count; i += 4) {
    const std::string four = Little32(static_cast<uint32_t>(random_()));
    bytes.replace(i, std::min<uint64_t>(4, count - i), four, 0, std::min<uint64_t>(4, count - i));
  }
  return bytes;
}

void Sample::Add(std::string key, DType dtype, const Dims& shape, const std::vector<StoredChunk>& chunks) {
  const uint64_t item = ItemBytes(dtype);
  const Dims to_strides = RowMajorStrides(shape);
  std::string data(*Numel(shape) * item, '\0');
  Tensor& tensor = catalog_.AddTensor(key, dtype, shape);
  tensor.first_chunk = static_cast<uint32_t>(catalog_.chunks.size());
  tensor.chunk_count = static_cast<uint32_t>(chunks.size());
  for (StoredChunk chunk : chunks) {
    if (chunk.strides.empty()) chunk.strides = RowMajorStrides(chunk.box.sizes);
    std::string storage = RandomBytes(IsEmpty(chunk.box.view()) ? 0 : StorageElements(chunk) * item);
    if (chunk.codec != Codec::kNone)
      std::fill(storage.begin(), storage.begin() + static_cast<std::ptrdiff_t>(storage.size() / 2), 'z');
    ForEachPosition(chunk.box.sizes, [&](DimsView at) {
      std::string element = storage.substr((chunk.first_element + Dot(at, chunk.strides)) * item, item);
      if (chunk.big_endian) SwapTheLongWay(element, SwapUnit(dtype));
      data.replace((Dot(at, to_strides) + Dot(chunk.box.offsets, to_strides)) * item, item, element);
    });
    const auto file = static_cast<uint32_t>(catalog_.chunks.size() % kFiles);
    Chunk record{.dims = catalog_.dims.size(), .file = file, .stored = {}, .surveyed = true};
    record.stored = AppendStorage(file, storage, chunk, record);
    for (const Dims& part : {chunk.box.offsets, chunk.box.sizes, chunk.strides}) {
      catalog_.dims.insert(catalog_.dims.end(), part.begin(), part.end());
    }
    catalog_.chunks.push_back(record);
  }
  data_.push_back(std::move(data));
}

void Sample::AddPlain(std::string key, DType dtype, const Dims& shape, const std::vector<Box>& boxes) {
  std::vector<StoredChunk> chunks;
  for (const Box& box : boxes) chunks.push_back({.box = box});
  Add(std::move(key), dtype, shape, chunks);
}

StoredTensor Sample::AppendStorage(uint32_t file, const std::string& storage, const StoredChunk& chunk, Chunk& record) {
  std::string& contents = contents_[file];
  contents += RandomBytes(Pick(random_, 1, 20));
  if (chunk.place_in_block)
    contents.append((*chunk.place_in_block + 2 * kBlock - contents.size() % kBlock) % kBlock, '.');
  StoredTensor stored{.offset = contents.size(),
                      .bytes = storage.size(),
                      .first_element = chunk.first_element,
                      .crc = PlainCrc(storage) ^ chunk.crc_error,
                      .crc_known = chunk.crc_known,
                      .big_endian = chunk.big_endian,
                      .codec = chunk.codec};
  record.offset = contents.size();
  switch (chunk.codec) {
    case Codec::kNone: contents += storage; break;
    case Codec::kDeflate: {
      const std::string encoded = Deflate(storage);
      stored.encoded_bytes = encoded.size();
      contents += encoded;
      break;
    }
    case Codec::kZstd: {
      // The archive around it, of which only the length matters.
      const std::string head = RandomBytes(Pick(random_, 0, 300));
      stored.offset = head.size();
      contents += Zstd(head + storage + RandomBytes(Pick(random_, 0, 300)));
      break;
    }
  }
  record.length = contents.size() - record.offset;
  return stored;
}

void Sample::Cast(uint64_t index, DType to) {
  Tensor& tensor = catalog_.tensors[index];
  const uint64_t from_bytes = ItemBytes(tensor.dtype);
  std::string cast;
  for (uint64_t pos = 0; pos < data_[index].size(); pos += from_bytes) {
    std::string item = std::string(ItemBytes(to), '\0') + data_[index].substr(pos, from_bytes);
    cast += item.substr(item.size() - ItemBytes(to));
  }
  data_[index] = cast;
  tensor.stored_dtype = std::exchange(tensor.dtype, to);
}

void Sample::Damage(uint64_t chunk, uint64_t pos) {
  const Chunk& damaged = catalog_.chunks[chunk];
  contents_[damaged.file][damaged.stored.offset + pos] ^= 1;
}

Place Sample::PlaceOf(uint64_t index) const {
  const Chunk& chunk = catalog_.chunks[index];
  return {.file = "/ckpt/" + catalog_.files[chunk.file].path,
          .offset = chunk.stored.codec == Codec::kZstd ? chunk.offset : chunk.stored.offset};
}

Text Sample::Header(uint64_t tensor, uint64_t offset, bool with_crc) const {
  Text header{.bytes = std::string(catalog_.tensors[tensor].key) + ":", .holes = {}};
  if (with_crc) {
    header.holes.push_back({.pos = header.bytes.size(), .region = static_cast<uint32_t>(tensor)});
    header.bytes += "????";
  }
  if (region_place_)
    header.bytes.append((*region_place_ + 2 * kBlock - (offset + header.bytes.size()) % kBlock) % kBlock, '_');
  return header;
}

Plan Sample::Store(MemoryFileSystem& files, bool crc_first) {
  for (uint32_t i = 0; i < kFiles; ++i) {
    SourceFile& file = catalog_.files[i];
    files.Put(catalog_.root / file.path, contents_[i]);
    const io::FileInfo info = Value(files.Stat(catalog_.root / file.path));
    file.bytes = info.bytes;
    file.mtime_ns = info.mtime_ns;
  }
  PlanBuilder planner(catalog_);
  Text directory{.bytes = "directory", .holes = {}};
  expected_.clear();
  const uint32_t output = planner.AddOutput("/out/model.pt", 0);
  const auto add = [&](Text text, const std::string& crc) {
    planner.AddLiteral({.output = output, .text = planner.AddText(text), .offset = expected_.size()});
    for (const Hole& hole : text.holes) text.bytes.replace(hole.pos, crc.size(), crc);
    expected_ += text.bytes;
  };
  for (uint32_t t = 0; t < data_.size(); ++t) {
    const std::string crc = Little32(PlainCrc(data_[t]));
    add(Header(t, expected_.size(), crc_first), crc);
    planner.AddTensor(output, expected_.size(), catalog_.tensors[t]);
    expected_ += data_[t];
    add({.bytes = "????;", .holes = {{.pos = 0, .region = t}}}, crc);
  }
  const uint64_t directory_offset = expected_.size();
  expected_ += directory.bytes;
  for (uint32_t t = 0; t < data_.size(); ++t) {
    directory.holes.push_back({.pos = directory.bytes.size(), .region = t});
    directory.bytes += "????";
    expected_ += Little32(PlainCrc(data_[t]));
  }
  planner.AddLiteral({.output = output, .text = planner.AddText(std::move(directory)), .offset = directory_offset});
  Plan plan = std::move(planner).Finish();
  plan.outputs[0].bytes = expected_.size();
  Value(CheckPlan(plan));
  return plan;
}

Sample MixedSample() {
  Sample sample(11);
  sample.AddPlain("row shards", DType::kFloat32, {601, 1000}, GridTiling(Dims{601, 1000}, Dims{4, 1}));
  sample.AddPlain("column shards", DType::kBFloat16, {300, 2048}, GridTiling(Dims{300, 2048}, Dims{1, 3}));
  sample.AddPlain("grid", DType::kInt64, {123, 457}, GridTiling(Dims{123, 457}, Dims{3, 5}));
  sample.AddPlain("cuts", DType::kUInt8, {33, 71, 64}, GridTiling(Dims{33, 71, 64}, Dims{3, 2, 4}));
  sample.Add("transposed", DType::kFloat32, {900, 700}, {{.box = {{0, 0}, {900, 700}}, .strides = {1, 900}}});
  sample.Add("channels last", DType::kFloat16, {6, 16, 24, 24},
             {{.box = {{0, 0, 0, 0}, {6, 16, 24, 24}}, .strides = {9216, 1, 384, 16}}});
  sample.Add("view", DType::kInt32, {40, 50},
             {{.box = {{0, 0}, {40, 50}}, .strides = {200, 2}, .first_element = 77, .spare_elements = 9}});
  sample.Add("expanded", DType::kFloat64, {30, 40}, {{.box = {{0, 0}, {30, 40}}, .strides = {0, 1}}});
  sample.Add("big-endian", DType::kComplex64, {64, 65},
             {{.box = {{0, 0}, {64, 65}}, .strides = {1, 64}, .big_endian = true}});
  sample.Add("scalar", DType::kFloat32, {}, {{.box = {}}});
  sample.Add("nothing", DType::kFloat32, {3, 0}, {{.box = {{0, 0}, {3, 0}}}});
  sample.Add("deflated", DType::kFloat32, {200, 900},
             {{.box = {{0, 0}, {100, 900}}, .codec = Codec::kDeflate}, {.box = {{100, 0}, {100, 900}}}});
  sample.Add("zstd", DType::kInt16, {500, 600},
             {{.box = {{0, 0}, {500, 300}}, .codec = Codec::kZstd},
              {.box = {{0, 300}, {500, 300}}, .strides = {1, 500}, .codec = Codec::kZstd}});
  sample.Add("unchecked", DType::kBool, {77}, {{.box = {{0}, {77}}, .crc_known = false, .crc_error = 1}});
  return sample;
}

}  // namespace dcpctl::test
