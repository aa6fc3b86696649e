#include "memory/pages.hpp"

#ifdef _WIN32
#define NOMINMAX
#include <windows.h>
#else
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <new>

namespace widemargin {

#ifdef _WIN32

void* map_pages(Size bytes) {
  void* memory = VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void unmap_pages(void* memory, Size) {
  VirtualFree(memory, 0, MEM_RELEASE);
}

bool offer_pages(void*, Size) {
  return false;
}

void around_forks(void (*)(), void (*)(), void (*)()) {}  // there are none

#else

void* map_pages(Size bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  madvise(memory, bytes, MADV_HUGEPAGE);  // a quarter of the time went into 4 KB page faults
#endif
  return memory;
}

void unmap_pages(void* memory, Size bytes) {
  munmap(memory, bytes);
}

#ifdef MADV_FREE

namespace {

// Computed when the library is loaded: a process forked while another thread is at a static of a
// function would wait for that thread for ever.
const Size kSixteenth =
    Size(std::max(0L, sysconf(_SC_PHYS_PAGES))) * Size(std::max(0L, sysconf(_SC_PAGESIZE))) / 16;

// Pages that are offered still count against such a limit: what is kept would be missing elsewhere.
template <class Resource>
bool limited(Resource resource) {
  rlimit limit;
  return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

}  // namespace

bool offer_pages(void* memory, Size bytes) {
  if (limited(RLIMIT_DATA) || limited(RLIMIT_AS)) return false;
  // From the start a sixteenth of the machine's memory, but 512 MB always: the rest goes at once.
  const Size kept = std::min(bytes, std::max(Size(512) << 20, kSixteenth));
  if (bytes > kept) madvise(static_cast<char*>(memory) + kept, bytes - kept, MADV_DONTNEED);
  madvise(memory, kept, MADV_FREE);
  return true;
}

#else

bool offer_pages(void*, Size) {
  return false;
}

#endif

void around_forks(void (*before)(), void (*parent)(), void (*child)()) {
  pthread_atfork(before, parent, child);
}

#endif

}  // namespace widemargin
