// When to stop: step limit, time limit, and the caller's wish.
#pragma once

#include <chrono>
#include <limits>

#include "solver/problem.hpp"

namespace widemargin {

class Control {
 public:
  explicit Control(const Options& options) : options_(options) {}

  long steps_left(long steps) const {
    return options_.max_steps < 0 ? (1L << 60) : options_.max_steps - steps;
  }

  double seconds_left() const {
    if (options_.max_seconds < 0) return std::numeric_limits<double>::infinity();
    return options_.max_seconds - std::chrono::duration<double>(Clock::now() - start_).count();
  }

  // True when the solve has to stop; `status` says why.
  bool stop(const Progress& progress, Status& status) {
    if (steps_left(progress.steps) <= 0) {
      status = Status::max_steps;
      return true;
    }
    if (seconds_left() <= 0) {
      status = Status::max_seconds;
      return true;
    }
    if (go_on(progress)) return false;
    status = Status::interrupted;
    return true;
  }

  // False when the caller asks to stop; asked at most every 20 ms.
  bool go_on(const Progress& progress) {
    const auto now = Clock::now();
    if (!options_.go_on || now - asked_ < std::chrono::milliseconds(20)) return true;
    asked_ = now;
    return options_.go_on(progress);
  }

 private:
  using Clock = std::chrono::steady_clock;
  const Options& options_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point asked_ = start_;
};

}  // namespace widemargin
