// A growing array of 32-bit words, without initialisation. Not std::vector: that copies all of it to grow,
// while realloc moves the pages of a large block, so a big pickle neither pays for the copy nor holds both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <span>
#include <utility>

namespace dcpctl::pickle {

class WordBuffer {
 public:
  WordBuffer() = default;
  WordBuffer(WordBuffer&& other) noexcept { Swap(other); }
  WordBuffer& operator=(WordBuffer&& other) noexcept {
    Swap(other);
    return *this;
  }
  WordBuffer(const WordBuffer&) = delete;
  WordBuffer& operator=(const WordBuffer&) = delete;
  ~WordBuffer() { std::free(data_); }

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] size_t capacity_bytes() const { return capacity_ * sizeof(uint32_t); }
  uint32_t& operator[](size_t i) { return data_[i]; }
  uint32_t operator[](size_t i) const { return data_[i]; }
  // Valid until the buffer grows.
  [[nodiscard]] std::span<const uint32_t> View(size_t start, size_t count) const { return {data_ + start, count}; }

  void PushBack(uint32_t word) {
    if (size_ == capacity_) Grow(1);
    data_[size_++] = word;
  }
  // Adds `count` words of any value; returns where they start.
  size_t Extend(size_t count) {
    if (count > capacity_ - size_) Grow(count);
    size_ += count;
    return size_ - count;
  }
  void Truncate(size_t size) { size_ = size; }
  void Reserve(size_t count) {
    if (count > capacity_) Resize(count);
  }
  void ShrinkToFit() {
    if (size_ < capacity_ && size_ > 0) Resize(size_);
  }

 private:
  void Grow(size_t more) {
    const size_t half_more = capacity_ + capacity_ / 2 + 16;
    Resize(half_more > size_ + more ? half_more : size_ + more);
  }
  void Resize(size_t capacity) {
    void* const moved = std::realloc(data_, capacity * sizeof(uint32_t));
    if (moved == nullptr) throw std::bad_alloc();
    data_ = static_cast<uint32_t*>(moved);
    capacity_ = capacity;
  }
  void Swap(WordBuffer& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  uint32_t* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace dcpctl::pickle
