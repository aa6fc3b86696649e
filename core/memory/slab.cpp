#include "memory/slab.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "memory/pages.hpp"

namespace widemargin {

namespace {

constexpr Size kHeapBytes = Size(1) << 20;   // the heap of a thread has such pages ready
constexpr Size kSmallBytes = Size(8) << 20;  // whole matrices of few samples: many at a time
constexpr std::align_val_t kAlignment{64};
constexpr Size kGrain = Size(2) << 20;  // of mappings: a huge page
constexpr Size kKeptLarge = 2;          // in a process: most fits run one after the other
constexpr Size kKeptArrays = 4;         // large ones of a fit
constexpr Size kKeptSmall = 8;          // and some side by side, or in threads that come and go
constexpr Size kHeapArray = Size(16) << 20;  // smaller ones share the memory of the heap
constexpr Size kHeader = 64;                 // before an array that is a mapping: how large that is

// An array must not take the memory of rows, which is many times larger and used as far as needed.
enum class Use { rows, array };

struct Mapping {
  void* memory = nullptr;
  Size bytes = 0;
};

// The one thing that outlives a fit in this process. The system may take the pages at any time
// (MADV_FREE), which it does when memory is short; after a fork the child begins with none.
class KeptSlabs {
 public:
  KeptSlabs() {
    around_forks([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                 [] {
                   instance().unmap_all();
                   instance().mutex_.unlock();
                 });
  }

  static KeptSlabs& instance() {
    static KeptSlabs* kept = new KeptSlabs;  // never destroyed: a fit may outlive static objects
    return *kept;
  }

  // The smallest that is large enough. Where there is none, those that are too small make room for
  // a new one: what is kept beside what is in use does not grow with the sizes asked for.
  Mapping take(Size bytes, Use use) {
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<Mapping>& kept = kept_like(bytes, use);
    std::sort(kept.begin(), kept.end(),
              [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
    const auto best = std::find_if(kept.begin(), kept.end(),
                                   [&](const Mapping& mapping) { return mapping.bytes >= bytes; });
    if (best != kept.end()) return std::exchange(*best, Mapping{});
    Size room = bytes;
    for (auto mapping = kept.rbegin(); mapping != kept.rend(); ++mapping) {
      if (mapping->bytes > room) continue;
      room -= mapping->bytes;
      unmap(*mapping);
    }
    return {};
  }

  // Keeps the mapping in place of the smallest, or gives it back.
  void put(Mapping mapping, Use use) {
    if (offer_pages(mapping.memory, mapping.bytes)) {
      std::lock_guard<std::mutex> lock(mutex_);
      std::vector<Mapping>& kept = kept_like(mapping.bytes, use);
      Mapping& smallest = *std::min_element(
          kept.begin(), kept.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
      if (smallest.bytes < mapping.bytes) std::swap(smallest, mapping);
    }
    unmap(mapping);
  }

  void release() {
    std::lock_guard<std::mutex> lock(mutex_);
    unmap_all();
  }

  Size bytes() {
    std::lock_guard<std::mutex> lock(mutex_);
    Size sum = 0;
    for (const std::vector<Mapping>* kept : {&small_, &large_, &arrays_})
      for (const Mapping& mapping : *kept) sum += mapping.bytes;
    return sum;
  }

 private:
  static void unmap(Mapping& mapping) {
    if (mapping.memory != nullptr) unmap_pages(mapping.memory, mapping.bytes);
    mapping = Mapping{};
  }
  void unmap_all() {
    for (std::vector<Mapping>* kept : {&small_, &large_, &arrays_})
      for (Mapping& mapping : *kept) unmap(mapping);
  }
  // A small block takes no large one: to offer that again takes longer than to clear few pages.
  std::vector<Mapping>& kept_like(Size bytes, Use use) {
    return bytes <= kSmallBytes ? small_ : use == Use::rows ? large_ : arrays_;
  }

  std::mutex mutex_;
  std::vector<Mapping> small_ = std::vector<Mapping>(kKeptSmall);
  std::vector<Mapping> large_ = std::vector<Mapping>(kKeptLarge);
  std::vector<Mapping> arrays_ = std::vector<Mapping>(kKeptArrays);
};

// Budgets differ a little from fit to fit, with the free memory: address space costs nothing, and
// with up to a quarter to spare the next fit finds this mapping large enough.
Size rounded_up(Size bytes) {
  Size grain = kGrain;
  while (8 * grain <= bytes) grain *= 2;
  return (bytes + grain - 1) / grain * grain;
}

Mapping take_mapping(Size bytes, Use use) {
  Mapping mapping = KeptSlabs::instance().take(bytes, use);
  if (mapping.memory != nullptr) return mapping;
  mapping.bytes = rounded_up(bytes);
  try {
    mapping.memory = map_pages(mapping.bytes);
  } catch (const std::bad_alloc&) {  // what is kept may be what is missing
    release_kept_slabs();
    mapping.memory = map_pages(mapping.bytes);
  }
  return mapping;
}

}  // namespace

Slab::Slab(Size bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  if (bytes <= kHeapBytes) {
    memory_ = ::operator new(std::size_t(bytes), kAlignment);
    return;
  }
  const Mapping mapping = take_mapping(bytes, Use::rows);
  memory_ = mapping.memory;
  mapped_ = mapping.bytes;
}

Slab::~Slab() {
  if (mapped_ > 0)
    KeptSlabs::instance().put({memory_, mapped_}, Use::rows);
  else
    ::operator delete(memory_, kAlignment);
}

void* take_array(Size bytes) {
  if (bytes <= kHeapArray) return ::operator new(std::size_t(bytes), kAlignment);
  const Mapping mapping = take_mapping(bytes + kHeader, Use::array);
  *static_cast<Size*>(mapping.memory) = mapping.bytes;
  return static_cast<char*>(mapping.memory) + kHeader;
}

void give_array(void* array, Size bytes) {
  if (bytes <= kHeapArray) return ::operator delete(array, kAlignment);
  void* memory = static_cast<char*>(array) - kHeader;
  KeptSlabs::instance().put({memory, *static_cast<Size*>(memory)}, Use::array);
}

void release_kept_slabs() {
  KeptSlabs::instance().release();
}

Size kept_slab_bytes() {
  return KeptSlabs::instance().bytes();
}

}  // namespace widemargin
