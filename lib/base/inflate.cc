#include "base/inflate.h"

#include <zlib.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace dcpctl {
namespace {

constexpr uint64_t kInputBytes = uint64_t{128} << 10;
constexpr uint64_t kOutputBytes = uint64_t{256} << 10;  // at most: a small record needs no more than its size
constexpr int kRawDeflate = -15;                        // negative window bits: no zlib header or checksum

class Inflater {
 public:
  Inflater(const ByteSource& source, uint64_t offset, uint64_t length, uint64_t max_decoded, const ByteSink& sink)
      : source_(source),
        offset_(offset),
        end_(offset + length),
        max_decoded_(max_decoded),
        sink_(sink),
        // One more than may come out: that it does has to show.
        output_(std::min(kOutputBytes - 1, max_decoded) + 1) {}
  ~Inflater() {
    if (started_) inflateEnd(&stream_);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  Result<uint64_t> Run() {
    if (inflateInit2(&stream_, kRawDeflate) != Z_OK) return Fail(ErrorKind::kInternal, "zlib can't be started");
    started_ = true;
    for (bool done = false; !done;) {
      DCPCTL_TRY(Refill());
      DCPCTL_ASSIGN(done, Step());
    }
    if (Here() != end_) {
      return Broken("deflate stream ends " + std::to_string(end_ - Here()) + " bytes before its record does");
    }
    return decoded_;
  }

 private:
  // Absolute offset of the first byte that zlib has not taken.
  [[nodiscard]] uint64_t Here() const { return offset_ - stream_.avail_in; }

  tl::unexpected<Error> Broken(std::string message) const {
    return Fail(Place{source_.name(), Here()}, ErrorKind::kCorrupt, std::move(message));
  }

  Result<void> Refill() {
    if (stream_.avail_in != 0 || offset_ == end_) return {};
    input_.resize(std::min(kInputBytes, end_ - offset_));
    DCPCTL_TRY(source_.ReadAt(offset_, input_));
    offset_ += input_.size();
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(input_.size());
    return {};
  }

  // Whether the stream has ended.
  Result<bool> Step() {
    stream_.next_out = reinterpret_cast<Bytef*>(output_.data());
    stream_.avail_out = static_cast<uInt>(output_.size());
    const int status = inflate(&stream_, Z_NO_FLUSH);
    if (status == Z_BUF_ERROR) return Broken("deflate stream is cut off");
    if (status != Z_OK && status != Z_STREAM_END) {
      return Broken(std::string("bad deflate data") + (stream_.msg ? std::string(": ") + stream_.msg : std::string()));
    }
    const uint64_t produced = output_.size() - stream_.avail_out;
    if (produced > max_decoded_ - decoded_) {
      return Fail(Place{source_.name(), Here()}, ErrorKind::kLimit,
                  "decoded record is larger than " + std::to_string(max_decoded_) + " bytes, expected at most that");
    }
    decoded_ += produced;
    if (produced != 0) DCPCTL_TRY(sink_(std::span(output_).first(produced)));
    return status == Z_STREAM_END;
  }

  const ByteSource& source_;
  uint64_t offset_;  // of the next byte to read; a range past the end fails there
  uint64_t end_;
  uint64_t max_decoded_;
  const ByteSink& sink_;
  z_stream stream_{};
  bool started_ = false;
  uint64_t decoded_ = 0;
  std::vector<std::byte> input_;
  std::vector<std::byte> output_;
};

}  // namespace

Result<uint64_t> DecodeDeflate(const ByteSource& source, uint64_t offset, uint64_t length, uint64_t max_decoded,
                               const ByteSink& sink) {
  return Inflater(source, offset, length, max_decoded, sink).Run();
}

}  // namespace dcpctl
