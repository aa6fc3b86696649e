// One large block of memory that is only touched as it is used.
#pragma once

#include <sys/mman.h>

#include <new>

#include "common.hpp"

namespace widemargin {

class Slab {
 public:
  explicit Slab(Size bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    memory_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    madvise(memory_, bytes, MADV_HUGEPAGE);  // a quarter of the time went into 4 KB page faults
#endif
  }
  ~Slab() {
    if (memory_ != nullptr) munmap(memory_, bytes_);
  }
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;

  void* data() const { return memory_; }
  Size bytes() const { return bytes_; }

 private:
  void* memory_ = nullptr;
  Size bytes_;
};

}  // namespace widemargin
