// Numbers that begin with a cache line, so that no load of a whole vector straddles two: a tenth of
// the time of pair steps.
#pragma once

#include <new>
#include <vector>

#include "common.hpp"

namespace widemargin {

template <class T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};

  LineAllocator() = default;
  template <class Other>
  LineAllocator(const LineAllocator<Other>&) {}

  T* allocate(Size count) { return static_cast<T*>(::operator new(count * sizeof(T), kLine)); }
  void deallocate(T* memory, Size) { ::operator delete(memory, kLine); }
  bool operator==(const LineAllocator&) const { return true; }
  bool operator!=(const LineAllocator&) const { return false; }
};

template <class T>
using Aligned = std::vector<T, LineAllocator<T>>;

}  // namespace widemargin
