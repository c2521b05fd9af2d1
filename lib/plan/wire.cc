#include "plan/wire.h"

#include <concepts>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/byte_cursor.h"
#include "base/byte_writer.h"
#include "base/wire.h"

namespace dcpctl {
namespace {

template <typename T>
concept IsNumber = std::integral<T> || std::is_enum_v<T>;

class PlanWriter {
 public:
  template <typename... T>
  void operator()(const T&... fields) {
    (Put(fields), ...);
  }
  std::string Take() && { return std::move(out_).Take(); }

 private:
  template <IsNumber T>
  void Put(T number) {
    if constexpr (sizeof(T) == 1) {
      out_.U8(static_cast<uint8_t>(number));
    } else if constexpr (sizeof(T) == 4) {
      out_.U32(static_cast<uint32_t>(number));
    } else {
      static_assert(sizeof(T) == 8);
      out_.U64(static_cast<uint64_t>(number));
    }
  }
  void Put(const std::string& text) { WriteText(out_, text); }
  template <typename T>
  void Put(const std::vector<T>& items) {
    out_.U64(items.size());
    for (const T& item : items) Put(item);
  }
  template <typename T>
  void Put(const std::optional<T>& item) {
    out_.U8(item ? 1 : 0);
    if (item) Put(*item);
  }
  template <typename T>
  requires std::is_class_v<T>
  void Put(const T& item) { VisitFields(*this, item); }

  ByteWriter out_;
};

class PlanReader {
 public:
  explicit PlanReader(std::string_view bytes) : in_(ReadMessage(bytes)) {}

  template <typename... T>
  void operator()(T&... fields) {
    (Get(fields), ...);
  }
  Result<Plan> Finish(Plan plan) { return in_.Finish(std::move(plan)); }

 private:
  template <IsNumber T>
  void Get(T& number) {
    if constexpr (sizeof(T) == 1) {
      number = static_cast<T>(in_.U8("number"));
    } else if constexpr (sizeof(T) == 4) {
      number = static_cast<T>(in_.U32("number"));
    } else {
      number = static_cast<T>(in_.U64("number"));
    }
  }
  void Get(std::string& text) { text = ReadText(in_); }
  template <typename T>
  void Get(std::vector<T>& items) {
    // None takes less than a byte.
    const uint64_t count = in_.U64("count");
    if (count > in_.remaining()) return in_.Reject(ErrorKind::kInternal, "a plan is cut off");
    items.resize(count);
    for (T& item : items) Get(item);
  }
  template <typename T>
  void Get(std::optional<T>& item) {
    if (in_.U8("there") != 0) Get(item.emplace());
  }
  template <typename T>
  requires std::is_class_v<T>
  void Get(T& item) { VisitFields(*this, item); }

  ByteCursor in_;
};

template <typename T, typename U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

// Taken apart this way, a field that is added does not compile until it is here, too.
template <typename Io>
void VisitFields(Io& io, Is<PlanOutput> auto& output) {
  auto& [path, bytes] = output;
  io(path, bytes);
}
template <typename Io>
void VisitFields(Io& io, Is<PlanFile> auto& file) {
  auto& [root, relative, bytes, mtime_ns] = file;
  io(root, relative, bytes, mtime_ns);
}
template <typename Io>
void VisitFields(Io& io, Is<StoredTensor> auto& stored) {
  auto& [offset, bytes, encoded_bytes, first_element, crc, crc_known, big_endian, codec] = stored;
  io(offset, bytes, encoded_bytes, first_element, crc, crc_known, big_endian, codec);
}
template <typename Io>
void VisitFields(Io& io, Is<PlanSource> auto& source) {
  auto& [file, stored, record_offset, record_length, strides] = source;
  io(file, stored, record_offset, record_length, strides);
}
template <typename Io>
void VisitFields(Io& io, Is<Piece> auto& piece) {
  auto& [source, dims] = piece;
  io(source, dims);
}
template <typename Io>
void VisitFields(Io& io, Is<Cast> auto& cast) {
  auto& [from, to] = cast;
  io(from, to);
}
template <typename Io>
void VisitFields(Io& io, Is<Region> auto& region) {
  auto& [output, offset, bytes, item_bytes, swap_unit, rank, shape, first_piece, piece_count, cast, key] = region;
  io(output, offset, bytes, item_bytes, swap_unit, rank, shape, first_piece, piece_count, cast, key);
}
template <typename Io>
void VisitFields(Io& io, Is<Hole> auto& hole) {
  auto& [pos, region] = hole;
  io(pos, region);
}
template <typename Io>
void VisitFields(Io& io, Is<Text> auto& text) {
  auto& [bytes, holes] = text;
  io(bytes, holes);
}
template <typename Io>
void VisitFields(Io& io, Is<Literal> auto& literal) {
  auto& [output, text, offset, first_region] = literal;
  io(output, text, offset, first_region);
}
template <typename Io>
void VisitFields(Io& io, Is<Gap> auto& gap) {
  auto& [output, offset, bytes] = gap;
  io(output, offset, bytes);
}
template <typename Io>
void VisitFields(Io& io, Is<PlanCopy> auto& copy) {
  auto& [file, path, link] = copy;
  io(file, path, link);
}
template <typename Io>
void VisitFields(Io& io, Is<PlanNeeds> auto& needs) {
  auto& [tensor_math, mpi, cuda] = needs;
  io(tensor_math, mpi, cuda);
}
template <typename Io>
void VisitFields(Io& io, Is<Plan> auto& plan) {
  auto& [files, copies, outputs, literals, gaps, regions, pieces, sources, texts, keys, dims, needs] = plan;
  io(files, copies, outputs, literals, gaps, regions, pieces, sources, texts, keys, dims, needs);
}

}  // namespace

std::string EncodePlan(const Plan& plan) {
  PlanWriter out;
  VisitFields(out, plan);
  return std::move(out).Take();
}

Result<Plan> DecodePlan(std::string_view bytes) {
  PlanReader in(bytes);
  Plan plan;
  VisitFields(in, plan);
  return in.Finish(std::move(plan));
}

}  // namespace dcpctl
