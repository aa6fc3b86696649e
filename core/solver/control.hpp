// When to stop: the limits of steps and time, and the monitor.
#pragma once

#include <chrono>
#include <limits>

#include "solver/options.hpp"
#include "solver/problem.hpp"

namespace widemargin {

// Thrown where the monitor stops a solve: it ends at once, its gradients are of several points.
struct Interrupted {};

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

  // The limit that is reached; converged where there is none.
  Status limit_reached(long steps) const {
    if (steps_left(steps) <= 0) return Status::max_steps;
    if (seconds_left() <= 0) return Status::max_seconds;
    return Status::converged;
  }

  // Calls the monitor, at most every 20 ms; throws Interrupted where it stops the solve.
  void report(const Progress& progress) {
    const auto now = Clock::now();
    if (!monitor_ || now - reported_ < kReportPeriod) return;
    reported_ = now;
    if (!monitor_(progress)) throw Interrupted();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kReportPeriod{20};

  const SolverOptions& options_;
  const std::function<bool(const Progress&)>& monitor_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point reported_ = start_;
};

}  // namespace widemargin
