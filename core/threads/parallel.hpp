// A team of threads that belongs to one solve: no process-wide pool, no spinning.
//
// OpenMP is not used: libgomp spins while it waits (0.2 s lost on a busy machine, measured) and
// deadlocks after fork. Threads here sleep on a condition variable and end with the team.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "common.hpp"
#include "threads/first_failure.hpp"

namespace widemargin {

class Team {
 public:
  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return size_; }

  // Calls work(begin, end) on disjoint ranges that cover [0, count), each a multiple of `grain`
  // but the last. `cost` is the number of kernel entries or equivalent: small work stays on the
  // calling thread. Results must not depend on how the range is cut. An exception of the work is
  // thrown once all threads have left it.
  void run(Size count, Size grain, double cost, const std::function<void(Size, Size)>& work);

 private:
  void serve();
  void share();

  int size_;
  std::vector<std::thread> members_;
  std::mutex mutex_;
  std::condition_variable start_, done_;
  const std::function<void(Size, Size)>* work_ = nullptr;
  Size count_ = 0, grain_ = 1;
  std::uint64_t round_ = 0;
  int pending_ = 0;
  std::atomic<Size> next_{0};
  FirstFailure failure_;
  bool quit_ = false;
};

}  // namespace widemargin
