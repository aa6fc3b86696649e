// One large block of memory that is only touched as it is used.
#pragma once

#include "common.hpp"

namespace widemargin {

// Its contents are arbitrary. Large blocks are mapped; those given back are kept for the next ones
// of the process (slab.cpp), so that a grid of fits has its pages cleared by the system only once.
class Slab {
 public:
  explicit Slab(Size bytes);
  ~Slab();
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;

  void* data() const { return memory_; }
  Size bytes() const { return bytes_; }

 private:
  void* memory_ = nullptr;
  Size bytes_;
  Size mapped_ = 0;  // bytes of the mapping; none where the block is of the heap
};

// The same for arrays, as Aligned (aligned.hpp) has them; they begin with a cache line.
void* take_array(Size bytes);
void give_array(void* array, Size bytes);

// Gives what is kept back to the system.
void release_kept_slabs();
// Address space kept at the moment, for tests.
Size kept_slab_bytes();

}  // namespace widemargin
