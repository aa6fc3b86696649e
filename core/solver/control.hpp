// When to stop: the limits of steps and time, and the monitor.
#pragma once

#include <chrono>
#include <limits>

#include "solver/options.hpp"
#include "solver/problem.hpp"

namespace widemargin {

class Control {
 public:
  Control(const SolverOptions& options, const Callbacks& callbacks)
      : options_(options), monitor_(callbacks.monitor) {}

  long steps_left(long steps) const {
    if (options_.max_steps == kUnlimitedSteps) return std::numeric_limits<long>::max();
    return options_.max_steps - steps;
  }

  double seconds_left() const {
    if (options_.max_seconds == kInfinity) return kInfinity;
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
    if (proceed(progress)) return false;
    status = Status::interrupted;
    return true;
  }

  // False when the monitor stops the solve; it is called at most every 20 ms.
  bool proceed(const Progress& progress) {
    const auto now = Clock::now();
    if (!monitor_ || now - called_ < kMonitorPeriod) return true;
    called_ = now;
    return monitor_(progress);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kMonitorPeriod{20};

  const SolverOptions& options_;
  const std::function<bool(const Progress&)>& monitor_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point called_ = start_;
};

}  // namespace widemargin
