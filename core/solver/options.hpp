// Options of a solve: one struct of values with named defaults, and its callbacks.
#pragma once

#include <functional>
#include <stdexcept>

#include "common.hpp"

namespace widemargin {

constexpr long kUnlimitedSteps = -1;

struct SolverOptions {
  double tolerance = 1e-3;           // largest KKT violation of a converged solution
  long max_steps = kUnlimitedSteps;  // pair steps
  double max_seconds = kInfinity;    // wall time
  bool shrinking = true;             // samples far from the margin are set aside
  std::uint64_t seed = 0;            // of the order of the first stage, or of the draws
  bool single_precision = true;      // of kernel rows; gradients are always double
  bool every_gradient = false;       // all gradients up to date at the end, see solve_blocks
  double entry_error = 0.0;          // of a kernel entry; room is left for what its sums lose

  // Refuses what no solver would end with.
  void verify() const {
    if (!(tolerance > -kInfinity)) throw std::invalid_argument("tolerance must be a number");
    if (!(entry_error >= 0.0)) throw std::invalid_argument("entry_error must not be negative");
    if (!(max_seconds >= 0.0)) throw std::invalid_argument("max_seconds must not be negative");
    if (max_steps < kUnlimitedSteps)
      throw std::invalid_argument("max_steps must not be negative, but for -1: no limit");
  }
};

struct Progress {
  long steps;
  double violation;  // over the samples that the solver looks at just now
  Size active;       // their number
};

struct Callbacks {
  // Called between blocks, at most every few milliseconds; false stops the solve.
  std::function<bool(const Progress&)> monitor;
  // Called with the samples that screening has left whenever their gradients are all up to date;
  // leaves keep[k] = 0 where samples[k] is certain to stay at the bound it is at.
  std::function<void(long steps, const Index* samples, Size count, char* keep)> screen;
};

}  // namespace widemargin
