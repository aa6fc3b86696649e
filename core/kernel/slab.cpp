#include "kernel/slab.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

namespace widemargin {

namespace {

constexpr Size kHeapBytes = Size(8) << 20;  // the heap has such pages ready from last time
constexpr Size kAlignment = 64;
constexpr Size kGrain = Size(2) << 20;  // of mappings: a huge page
constexpr Size kKeptSlabs = 2;          // in a process: most fits run one after the other

// Of each, from its start: the rest is given back. A sixteenth of the memory, but 512 MB always.
Size kept_bytes() {
  static const Size share =
      Size(std::max(0L, sysconf(_SC_PHYS_PAGES))) * Size(std::max(0L, sysconf(_SC_PAGESIZE))) / 16;
  return std::max(Size(512) << 20, share);
}

struct Mapping {
  void* memory = nullptr;
  Size bytes = 0;
};

// The one thing that outlives a fit in this process. The system may take the pages at any time
// (MADV_FREE), which it does when memory is short; after a fork the child begins with none.
class KeptSlabs {
 public:
  KeptSlabs() {
    pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                   [] {
                     instance().unmap_all();
                     instance().mutex_.unlock();
                   });
  }

  static KeptSlabs& instance() {
    static KeptSlabs* kept = new KeptSlabs;  // never destroyed: a fit may outlive static objects
    return *kept;
  }

  // The smallest that is large enough; an empty one where there is none.
  Mapping take(Size bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    Mapping* best = nullptr;
    for (Mapping& mapping : kept_)
      if (mapping.bytes >= bytes && (best == nullptr || mapping.bytes < best->bytes))
        best = &mapping;
    return best == nullptr ? Mapping{} : std::exchange(*best, Mapping{});
  }

  // Keeps the mapping in the place of the smallest, or gives it back.
  void put(Mapping mapping) {
#ifdef MADV_FREE
    const Size kept = std::min(mapping.bytes, kept_bytes());
    if (mapping.bytes > kept)
      madvise(static_cast<char*>(mapping.memory) + kept, mapping.bytes - kept, MADV_DONTNEED);
    madvise(mapping.memory, kept, MADV_FREE);
    std::lock_guard<std::mutex> lock(mutex_);
    Mapping& smallest = *std::min_element(
        kept_.begin(), kept_.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
    if (smallest.bytes < mapping.bytes) std::swap(smallest, mapping);
#endif
    unmap(mapping);
  }

  void release() {
    std::lock_guard<std::mutex> lock(mutex_);
    unmap_all();
  }

  Size bytes() {
    std::lock_guard<std::mutex> lock(mutex_);
    Size sum = 0;
    for (const Mapping& mapping : kept_) sum += mapping.bytes;
    return sum;
  }

 private:
  static void unmap(Mapping& mapping) {
    if (mapping.memory != nullptr) munmap(mapping.memory, mapping.bytes);
    mapping = Mapping{};
  }
  void unmap_all() {
    for (Mapping& mapping : kept_) unmap(mapping);
  }

  std::mutex mutex_;
  std::array<Mapping, kKeptSlabs> kept_{};
};

// Budgets differ a little from fit to fit, with the free memory: address space costs nothing, and
// with up to a quarter to spare the next fit finds this mapping large enough.
Size rounded_up(Size bytes) {
  Size grain = kGrain;
  while (8 * grain <= bytes) grain *= 2;
  return (bytes + grain - 1) / grain * grain;
}

Mapping map_new(Size bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  madvise(memory, bytes, MADV_HUGEPAGE);  // a quarter of the time went into 4 KB page faults
#endif
  return {memory, bytes};
}

}  // namespace

Slab::Slab(Size bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  if (bytes <= kHeapBytes) {
    memory_ = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
    if (memory_ == nullptr) throw std::bad_alloc();
    return;
  }
  Mapping mapping = KeptSlabs::instance().take(bytes);
  if (mapping.memory == nullptr) mapping = map_new(rounded_up(bytes));
  memory_ = mapping.memory;
  mapped_ = mapping.bytes;
}

Slab::~Slab() {
  if (mapped_ > 0)
    KeptSlabs::instance().put({memory_, mapped_});
  else
    std::free(memory_);
}

void release_kept_slabs() {
  KeptSlabs::instance().release();
}

Size kept_slab_bytes() {
  return KeptSlabs::instance().bytes();
}

}  // namespace widemargin
