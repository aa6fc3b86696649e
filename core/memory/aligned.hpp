// Numbers that begin with a cache line, so that no load of a whole vector straddles two: a tenth of
// the time of pair steps.
#pragma once

#include <new>
#include <vector>

#include "common.hpp"
#include "memory/slab.hpp"

namespace widemargin {

// Large arrays are of memory that was used before, where the process has some (slab.cpp).
template <class T>
struct LineAllocator {
  using value_type = T;

  LineAllocator() = default;
  template <class Other>
  LineAllocator(const LineAllocator<Other>&) {}

  T* allocate(Size count) { return static_cast<T*>(take_array(count * sizeof(T))); }
  void deallocate(T* memory, Size count) { give_array(memory, count * sizeof(T)); }
  // Numbers that are given no value have none: clearing them first would touch every page.
  template <class Number>
  void construct(Number* place) noexcept {
    ::new (static_cast<void*>(place)) Number;
  }
  bool operator==(const LineAllocator&) const { return true; }
  bool operator!=(const LineAllocator&) const { return false; }
};

// Of a size alone, as after resize(), the numbers are arbitrary.
template <class T>
using Aligned = std::vector<T, LineAllocator<T>>;

}  // namespace widemargin
