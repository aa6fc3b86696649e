// Exact moves along a path (box homotopy, mathematics 0.4 and 3.2).
//
//   minimise 1/2 beta' K beta - linear' beta
//   subject to lower <= beta <= upper  and, with an intercept,  sum(beta) = total
//
// with lower, upper, linear and total moving together, linearly in eta in [0, 1].
// The solution is piecewise linear in eta; one step of the engine is one piece.
// Every row is at its lower bound (gradient >= 0), at its upper bound (<= 0), in the
// margin set (gradient 0, interior), or pinned (it goes where its box goes, whatever
// its gradient: a sample on its way out). The gradient includes the intercept:
// gradient = K beta + b - linear.
//
// The engine asks for kernel columns of the rows that enter the margin set, one at a
// time, and stores those alone: memory is rows x margin set, never rows x rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "path/margin_set.hpp"

namespace widemargin {

enum class Side : std::int8_t { Lower = 0, Upper = 1, Margin = 2, Pinned = 3 };

enum class PathStatus { Complete, Stalled, Infeasible };

struct PathProblem {
  std::size_t rows = 0;
  bool has_equality = true;
  double total_rate = 0;                   // change of sum(beta) over the whole path
  double linear_scale = 1;                 // size of the linear term: unit of gradients
  std::vector<double> beta, gradient;      // the solution at eta = 0
  std::vector<double> diagonal;            // K_ii
  std::vector<double> lower, upper;        // boxes at eta = 0
  std::vector<double> lower_to, upper_to;  // boxes at eta = 1
  std::vector<double> linear_rate;         // linear(1) - linear(0)
  std::vector<double> drive;               // K times the rates of the bound rows; or empty
  std::vector<Side> side;
};

struct PathReport {
  PathStatus status = PathStatus::Complete;
  std::int64_t steps = 0;          // pieces: events of every kind, and the last stretch
  std::int64_t exchanges = 0;      // dependent rows swapped in or passed through
  std::int64_t shifts = 0;         // moves of the intercept alone (empty margin set)
  std::int64_t perturbations = 0;  // ties broken by moving the problem a little
  std::int64_t refactorisations = 0;
  std::int64_t largest_margin = 0;
};

class Path {
 public:
  using Column = std::function<void(std::size_t row, double* column)>;
  using Poll = std::function<void()>;  // throws to stop: nothing outside has changed

  Path(PathProblem problem, Column column, Poll poll, std::int64_t max_steps, std::uint64_t seed);

  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;

  PathReport run();

  const std::vector<double>& beta() const { return now_.beta; }
  const std::vector<double>& gradient() const { return now_.gradient; }
  const std::vector<Side>& side() const { return now_.side; }

 private:
  struct Event {
    double step;
    double rate;
    std::size_t row;
    bool leaves;  // a margin member meets a bound
    Side bound;   // which one
  };

  void seed_margin();
  void begin_phase(bool use_drive);
  bool follow_phase();
  bool moves() const;
  void schedule_return();
  void compute_rates();
  template <class Visit>
  void near_events(Visit visit) const;
  Event next_event() const;
  void advance(double step);
  bool shift_intercept();
  void enter(std::size_t row);
  void insert(std::size_t row, std::vector<double> column, bool upward);
  Side exchange(std::size_t row, const std::vector<double>& column, bool upward,
                std::size_t* blocker);
  void leave(std::size_t row, Side bound);
  void settle(std::size_t row, Side bound, const std::vector<double>& column);
  void perturb();
  void refine();

  double rate_of(std::size_t row) const {
    return now_.side[row] == Side::Upper ? upper_rate_[row] : lower_rate_[row];
  }
  void place_bounds();

  PathProblem now_;
  Column column_;
  Poll poll_;
  std::int64_t max_steps_;
  std::mt19937_64 random_;
  MarginSet margin_;
  PathReport report_;

  double eta_ = 0;
  double sum_to_ = 0;  // sum(beta) at the end of the path, over these rows
  std::vector<double> lower_rate_, upper_rate_;
  std::vector<double> lower_shift_, upper_shift_, linear_shift_;  // perturbations owed
  bool owed_ = false;
  std::vector<std::size_t> moving_;
  std::vector<char> displaced_;  // interior at the start, put on a bound by seeding

  std::vector<double> drive_;  // K da_N - dp, kept up to date by enter and leave
  double rest_rate_ = 0;       // sum of da over the bound rows
  std::vector<double> margin_rate_, gradient_rate_;
  double intercept_rate_ = 0;
  double gradient_noise_ = 0, margin_noise_ = 0;
};

}  // namespace widemargin
