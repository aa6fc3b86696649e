// Memory that is kept between fits: reused, bounded, shared by threads, not inherited by a fork.
#ifndef _WIN32  // where none is kept
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "memory/aligned.hpp"
#include "memory/slab.hpp"
#include "tests/testing.hpp"

using namespace widemargin;
using testing::require;

namespace {

constexpr Size kLarge = Size(16) << 20;

}  // namespace

WIDEMARGIN_TEST(a_slab_given_back_serves_the_next_one) {
  release_kept_slabs();
  void* first = nullptr;
  {
    const Slab slab(kLarge);
    first = slab.data();
    std::memset(first, 1, kLarge);
  }
  require(kept_slab_bytes() >= kLarge, "kept");
  {
    const Slab smaller(kLarge - 4096);
    require(smaller.data() == first && smaller.bytes() == kLarge - 4096, "the same memory");
    require(kept_slab_bytes() == 0, "taken");
    const Slab other(kLarge);
    require(other.data() != first, "never handed out twice");
  }
  release_kept_slabs();
  require(kept_slab_bytes() == 0, "given back");
}

WIDEMARGIN_TEST(a_slab_serves_a_request_that_is_a_little_larger) {
  release_kept_slabs();
  void* first = nullptr;
  {
    const Slab slab(kLarge + 4096);
    first = slab.data();
  }
  const Slab larger(kLarge + 8192);
  require(larger.data() == first, "the same memory");
}

WIDEMARGIN_TEST(no_more_than_two_slabs_are_kept) {
  release_kept_slabs();
  {
    const Slab a(kLarge), b(2 * kLarge), c(3 * kLarge);
  }
  require(kept_slab_bytes() == 5 * kLarge, "the two largest");
  release_kept_slabs();
}

WIDEMARGIN_TEST(a_large_array_serves_the_next_one_and_no_rows) {
  release_kept_slabs();
  const Size count = Size(5) << 20;  // 20 MB
  const float* first = nullptr;
  {
    Aligned<float> array(count), other(count);
    require(array.data() != other.data(), "never handed out twice");
    first = array.data();
    array.back() = other.back() = 1.0F;
    require(std::uintptr_t(first) % 64 == 0, "begins with a cache line");
    require(kept_slab_bytes() == 0, "both in use");
  }
  const Size kept = kept_slab_bytes();
  require(kept >= 2 * count * sizeof(float), "both kept");
  const Slab rows(count * sizeof(float));
  require(kept_slab_bytes() == kept, "rows take no array");
  const Aligned<float> smaller(count - 64), next(count - 64);
  require(smaller.data() == first || next.data() == first, "the same memory");
  require(kept_slab_bytes() == 0, "taken");
}

WIDEMARGIN_TEST(a_process_of_limited_memory_keeps_nothing) {
  release_kept_slabs();
  rlimit former;
  getrlimit(RLIMIT_DATA, &former);
  const rlimit limited{Size(1) << 60, former.rlim_max};
  setrlimit(RLIMIT_DATA, &limited);
  rlimit now;
  getrlimit(RLIMIT_DATA, &now);
  if (now.rlim_cur != limited.rlim_cur) return;  // an emulator takes no limits
  {
    const Slab rows(kLarge);
    const Aligned<float> array(2 * kLarge / sizeof(float));
  }
  const Size kept = kept_slab_bytes();
  setrlimit(RLIMIT_DATA, &former);
  require(kept == 0, "what is kept would count against the limit");
}

#ifdef __linux__

namespace {

// What counts against the limit of data: under sanitizers terabytes.
Size mapped_bytes() {
  Size pages[6] = {};
  std::ifstream statm("/proc/self/statm");
  for (Size& count : pages) statm >> count;
  return pages[5] * Size(sysconf(_SC_PAGESIZE));
}

}  // namespace

WIDEMARGIN_TEST(a_slab_takes_the_room_of_kept_arrays_where_the_system_has_none) {
  release_kept_slabs();
  {
    const Aligned<float> array(Size(64) * kLarge / sizeof(float));
  }
  require(kept_slab_bytes() >= 64 * kLarge, "kept");
  rlimit former;
  getrlimit(RLIMIT_DATA, &former);
  const rlimit limited{mapped_bytes() + 16 * kLarge, former.rlim_max};
  setrlimit(RLIMIT_DATA, &limited);
  bool had = false;
  try {
    const Slab rows(40 * kLarge);
    had = true;
  } catch (const std::bad_alloc&) {
  }
  setrlimit(RLIMIT_DATA, &former);
  require(had, "the arrays were given back");
  release_kept_slabs();
}

#endif

WIDEMARGIN_TEST(what_is_too_small_makes_room) {
  release_kept_slabs();
  {
    const Slab small(kLarge), medium(2 * kLarge);
  }
  {
    const Slab larger(3 * kLarge);
    require(kept_slab_bytes() == 0, "both went back to the system");
  }
  {
    const Slab small(kLarge);  // takes the kept one
    const Slab medium(2 * kLarge);
  }
  const Slab between(5 * kLarge / 2);
  require(kept_slab_bytes() == 2 * kLarge, "the larger one serves, nothing has to go");
  release_kept_slabs();
}

WIDEMARGIN_TEST(numbers_without_a_value_are_not_cleared) {
  release_kept_slabs();
  const Size count = Size(5) << 20;
  {
    const Aligned<float> ones(count, 1.0F);
  }
  const Aligned<float> array(count);
  require(array[0] == 1.0F && array[count - 1] == 1.0F, "no page was touched");
  const Aligned<float> zeros(count, 0.0F);
  require(zeros[0] == 0.0F && zeros[count - 1] == 0.0F, "a value that is given counts");
  release_kept_slabs();
}

WIDEMARGIN_TEST(small_slabs_serve_small_requests_of_any_thread) {
  release_kept_slabs();
  const Size small = Size(3) << 20;
  void* large = nullptr;
  {
    const Slab slab(kLarge);
    large = slab.data();
  }
  void* first = nullptr;
  std::thread([&] {
    const Slab slab(small);
    first = slab.data();
  }).join();
  require(first != large, "a large one is left to large requests");
  std::thread([&] {
    const Slab slab(small);
    require(slab.data() == first, "another thread finds the pages of the first");
  }).join();
  {
    const std::vector<std::unique_ptr<Slab>> many = [&] {
      std::vector<std::unique_ptr<Slab>> out;
      for (int k = 0; k < 20; ++k) out.push_back(std::make_unique<Slab>(small));
      return out;
    }();
  }
  require(kept_slab_bytes() <= kLarge + 8 * (Size(4) << 20), "not all of them are kept");
  const Slab again(kLarge);
  require(again.data() == large, "small ones have not driven it out");
  release_kept_slabs();
}

WIDEMARGIN_TEST(slabs_are_shared_by_threads) {
  release_kept_slabs();
  std::vector<std::thread> threads;
  std::vector<char> intact(4, 1);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t, &intact] {
      for (int round = 0; round < 20; ++round) {
        const Slab slab(kLarge);
        char* memory = static_cast<char*>(slab.data());
        std::memset(memory, t, 4096);
        for (Size k = 0; k < 4096; ++k) intact[Size(t)] &= memory[k] == char(t);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const char own : intact) require(own, "no other thread writes to a slab in use");
  release_kept_slabs();
}

WIDEMARGIN_TEST(a_forked_process_begins_with_no_slab) {
  release_kept_slabs();
  {
    const Slab slab(kLarge);
  }
  const pid_t child = fork();
  if (child == 0) {
    const bool empty = kept_slab_bytes() == 0;
    const Slab slab(kLarge);
    std::memset(slab.data(), 1, 4096);
    _exit(empty ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  require(WIFEXITED(status) && WEXITSTATUS(status) == 0, "it has none, and maps its own");
  require(kept_slab_bytes() >= kLarge, "its parent has");
  release_kept_slabs();
}

#endif
