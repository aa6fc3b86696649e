// The first exception of several threads, for the one that waits for them.
#pragma once

#include <exception>
#include <mutex>
#include <utility>

namespace widemargin {

// An exception that leaves a thread ends the process, and one that leaves the thread which waits
// for others leaves them behind: both are kept until all have ended.
class FirstFailure {
 public:
  // Calls work(); false where it threw.
  template <class Work>
  bool guard(const Work& work) {
    try {
      work();
      return true;
    } catch (...) {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      return false;
    }
  }

  // Throws what was kept, once.
  void rethrow() {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace widemargin
