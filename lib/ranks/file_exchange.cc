#include "ranks/file_exchange.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/result.h"
#include "base/wire.h"
#include "io/file_cache.h"

namespace dcpctl::ranks {

struct FetchRequest {
  unsigned from = 0;
  uint64_t id = 0;
  std::string name = {};
  uint64_t offset = 0;
  uint64_t length = 0;
};

namespace {

enum Tag : int { kRequest = Crew::kFirstFreeTag, kReply };

constexpr uint64_t kPiece = uint64_t{4} << 20;

std::string Encode(const FetchRequest& request) {
  ByteWriter out;
  out.U64(request.id).U64(request.offset).U64(request.length);
  WriteText(out, request.name);
  return std::move(out).Take();
}

FetchRequest DecodeRequest(unsigned from, const std::string& bytes) {
  ByteCursor in = ReadMessage(bytes);
  FetchRequest request{.from = from, .id = in.U64("id")};
  request.offset = in.U64("offset");
  request.length = in.U64("length");
  request.name = ReadText(in);
  return request;
}

// The files of this process, by name.
class Shelf {
 public:
  Shelf(io::FileSystem& files, const std::filesystem::path& folder, const std::vector<io::SeenFile>& seen)
      : cache_(files, Paths(folder, seen)) {
    for (uint32_t i = 0; i < seen.size(); ++i) numbers_.emplace(seen[i].name, i);
  }

  Result<std::string> Read(const FetchRequest& request) {
    const auto found = numbers_.find(request.name);
    if (found == numbers_.end())
      return Fail(Place{.file = request.name}, ErrorKind::kInternal, "is asked of a process that does not have it");
    DCPCTL_ASSIGN(const auto file, cache_.Open(found->second));
    std::string bytes(std::min(request.length, kPiece), '\0');
    if (bytes.empty()) {
      DCPCTL_TRY(file->CheckUnchanged());
    } else {
      DCPCTL_TRY(file->ReadAt(request.offset, std::as_writable_bytes(std::span(bytes))));
    }
    return bytes;
  }

 private:
  static std::vector<io::CachedPath> Paths(const std::filesystem::path& folder, const std::vector<io::SeenFile>& seen) {
    std::vector<io::CachedPath> paths;
    for (const io::SeenFile& file : seen) {
      paths.push_back({.root = folder.string(),
                       .relative = file.name,
                       .known = true,
                       .bytes = file.bytes,
                       .mtime_ns = file.mtime_ns});
    }
    return paths;
  }

  io::FileCache cache_;
  std::unordered_map<std::string, uint32_t> numbers_;
};

}  // namespace

// What is asked of this process, and what it has asked for.
struct FileExchange::Desk {
  struct Order {
    std::span<std::byte> out;
    uint64_t pieces_left = 0;
    std::optional<Error> error = std::nullopt;
  };
  struct Piece {
    Order* order;
    std::span<std::byte> out;
  };

  std::mutex mutex;  // guards all below
  std::condition_variable_any changed;
  std::deque<FetchRequest> requests;
  uint64_t next_id = 0;
  std::map<uint64_t, Piece> pieces;  // on their way, by id

  void OnRequest(unsigned from, const std::string& bytes) {
    const std::lock_guard lock(mutex);
    requests.push_back(DecodeRequest(from, bytes));
    changed.notify_all();
  }

  // Nobody waits any more for a piece that is not there.
  void OnReply(const std::string& bytes) {
    ByteCursor in = ReadMessage(bytes);
    const uint64_t id = in.U64("id");
    const bool ok = in.U8("outcome") != 0;
    const std::lock_guard lock(mutex);
    const auto piece = pieces.find(id);
    if (piece == pieces.end()) return;
    Order& order = *piece->second.order;
    if (ok) {
      const auto data = in.Bytes(piece->second.out.size(), "bytes");
      if (!data.empty()) std::memcpy(piece->second.out.data(), data.data(), data.size());
    } else if (!order.error) {
      order.error = ReadError(in);
    }
    if (in.failed() && !order.error) order.error = Error(ErrorKind::kInternal, "a reply is cut off");
    --order.pieces_left;
    pieces.erase(piece);
    changed.notify_all();
  }
};

FileExchange::FileExchange(Crew& crew, io::FileSystem& here, const std::filesystem::path& folder,
                           const std::vector<io::SeenFile>& seen)
    : crew_(crew), desk_(std::make_shared<Desk>()) {
  crew.courier().Handle(kRequest,
                        [desk = desk_](unsigned from, const std::string& bytes) { desk->OnRequest(from, bytes); });
  crew.courier().Handle(kReply, [desk = desk_](unsigned, const std::string& bytes) { desk->OnReply(bytes); });
  server_ = std::jthread([this, &here, folder, seen](const std::stop_token& stop) { Serve(stop, here, folder, seen); });
}

FileExchange::~FileExchange() = default;

// One request after the other: replies that nobody takes yet hold up the next.
void FileExchange::Serve(const std::stop_token& stop, io::FileSystem& here, const std::filesystem::path& folder,
                         const std::vector<io::SeenFile>& seen) {
  Shelf shelf(here, folder, seen);
  for (;;) {
    std::unique_lock lock(desk_->mutex);
    if (!desk_->changed.wait(lock, stop, [this] { return !desk_->requests.empty(); })) return;
    const FetchRequest request = std::move(desk_->requests.front());
    desk_->requests.pop_front();
    lock.unlock();
    const auto bytes = shelf.Read(request);
    ByteWriter reply;
    reply.U64(request.id).U8(bytes ? 1 : 0);
    if (bytes) {
      reply.Text(*bytes);
    } else {
      WriteError(reply, bytes.error());
    }
    // When it is stopped, the other is, too.
    (void)crew_.courier().PostWhenRoom(request.from, kReply, std::move(reply).Take(), stop).has_value();
  }
}

Result<void> FileExchange::Fetch(unsigned owner, const std::string& name, uint64_t offset, std::span<std::byte> out) {
  Desk::Order order{.out = out, .pieces_left = std::max<uint64_t>(1, (out.size() + kPiece - 1) / kPiece)};
  std::vector<uint64_t> ids;
  std::vector<FetchRequest> requests;
  std::unique_lock lock(desk_->mutex);
  for (uint64_t i = 0; i < order.pieces_left; ++i) {
    const uint64_t begin = i * kPiece;
    const auto part = out.subspan(begin, std::min<uint64_t>(kPiece, out.size() - begin));
    ids.push_back(desk_->next_id++);
    desk_->pieces.emplace(ids.back(), Desk::Piece{.order = &order, .out = part});
    requests.push_back({.id = ids.back(), .name = name, .offset = offset + begin, .length = part.size()});
  }
  lock.unlock();
  for (const FetchRequest& request : requests) crew_.courier().Post(owner, kRequest, Encode(request));
  lock.lock();
  const bool all = desk_->changed.wait(lock, crew_.stop(), [&] { return order.pieces_left == 0; });
  for (const uint64_t id : ids) desk_->pieces.erase(id);
  if (order.error) return Fail(std::move(*order.error).In("read by process " + std::to_string(owner)));
  if (!all) return Fail(ErrorKind::kCancelled, "stopped");
  return {};
}

}  // namespace dcpctl::ranks
