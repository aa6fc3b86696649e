// One large block of memory that is only touched as it is used.
#pragma once

#include <sys/mman.h>

#include <cstdlib>
#include <new>

#include "common.hpp"

namespace widemargin {

class Slab {
 public:
  explicit Slab(Size bytes) : bytes_(bytes), mapped_(bytes > kHeapBytes) {
    if (bytes == 0) return;
    if (!mapped_) {
      memory_ = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
      if (memory_ == nullptr) throw std::bad_alloc();
      return;
    }
    memory_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    madvise(memory_, bytes, MADV_HUGEPAGE);  // a quarter of the time went into 4 KB page faults
#endif
  }
  ~Slab() {
    if (mapped_)
      munmap(memory_, bytes_);
    else
      std::free(memory_);
  }
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;

  void* data() const { return memory_; }
  Size bytes() const { return bytes_; }

 private:
  static constexpr Size kHeapBytes = Size(8) << 20;  // the heap has such pages ready from last time
  static constexpr Size kAlignment = 64;

  void* memory_ = nullptr;
  Size bytes_;
  bool mapped_;
};

}  // namespace widemargin
