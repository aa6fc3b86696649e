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
// One piece: rates of the margin set and of all gradients by its bordered system; the next event (a
// margin row meets a bound, a bound row's gradient meets 0); advance to it; the row leaves or
// enters. Where the margin set is empty the intercept alone moves, where a row depends on its
// members it takes the place of one, and ties are broken by a perturbation that a phase of its own
// takes back. (Cauwenberghs and Poggio, NIPS 13, 2001; Hastie et al., JMLR 5, 2004.)
//
// The engine asks for kernel columns of the rows that enter the margin set, one at a
// time, and stores those alone: memory is rows x margin set, never rows x rows.
#pragma once

#include <functional>
#include <random>
#include <vector>

#include "path/lagging_rows.hpp"
#include "path/margin_set.hpp"

namespace widemargin {

enum class Side : std::int8_t { lower = 0, upper = 1, margin = 2, pinned = 3 };

enum class PathStatus { complete, stalled, infeasible };

struct PathProblem {
  Size rows = 0;
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
  // Bounds that bind nothing go to their end at once; where every point on the way is wanted as the
  // solution at its eta, they move with it.
  bool every_point = false;
  std::vector<char> observed;  // rows of whose gradients sign changes are noted; or empty
};

struct Crossing {
  double eta;
  Size row;
};

struct PathReport {
  PathStatus status = PathStatus::complete;
  long steps = 0;          // pieces: events of every kind, and the last stretch
  long exchanges = 0;      // dependent rows swapped in or passed through
  long shifts = 0;         // moves of the intercept alone (empty margin set)
  long perturbations = 0;  // ties broken by moving the problem a little
  long refactorisations = 0;
  long looks = 0;  // pieces for which the rates of all rows were computed
  long largest_margin = 0;
  std::vector<Crossing> crossings;  // of observed rows, up to the first perturbation
  std::vector<double> breakpoints;  // the eta of every event, likewise
};

class Path {
 public:
  using Column = std::function<void(Size row, double* column)>;
  using Poll = std::function<void()>;  // throws to stop: nothing outside has changed

  Path(PathProblem problem, Column column, Poll poll, long max_steps, std::uint64_t seed);

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
    Size row;
    bool leaves;  // a margin member meets a bound
    Side bound;   // which one
  };

  // The row that stops an exchange, and the bound it meets.
  struct Block {
    Size row;
    Side bound;
  };

  void seed_margin();
  void begin_phase(bool use_drive);
  PathStatus follow_phase();
  bool sum_is_stuck() const;
  void finish_phase();
  bool moves() const;
  void schedule_return();
  void compute_rates();
  void correct_rates();
  double rate_scale() const;
  void note_noise(double residual);
  bool lagging_rows_keep_sides(double step);
  void note_velocities();
  void look();
  void watch(Size row);
  void let_far_rows_lag();
  template <class Visit>
  void near_events(Visit visit) const;
  Event next_event() const;
  void advance(double step);
  void note_crossings(double step, double before, double shift);
  bool shift_intercept();
  void enter(Size row);
  void insert(Size row, std::vector<double> column, bool upward);
  Block exchange(Size row, const std::vector<double>& column, bool upward);
  void leave(Size row, Side bound);
  void settle(Size row, Side bound, const std::vector<double>& column);
  void perturb();
  void refine();

  double rate_of(Size row) const {
    return now_.side[row] == Side::upper ? upper_rate_[row] : lower_rate_[row];
  }
  void place_bounds();

  PathProblem now_;
  Column column_;
  Poll poll_;
  long max_steps_;
  std::mt19937_64 random_;
  MarginSet margin_;
  LaggingRows lag_;
  PathReport report_;

  double eta_ = 0;
  double sum_to_ = 0;  // sum(beta) at the end of the path
  std::vector<double> lower_rate_, upper_rate_;
  // Perturbations, which a phase of their own takes back:
  std::vector<double> lower_shift_, upper_shift_, linear_shift_;
  bool perturbed_ = false;
  bool observing_ = false;
  std::vector<Size> moving_;
  std::vector<char> displaced_;  // interior at the start, put on a bound by seeding

  std::vector<double> drive_;  // K da_N - dp, kept up to date by enter and leave
  double rest_rate_ = 0;       // sum of da over the bound rows
  ByPosition<double> margin_rate_;
  std::vector<double> gradient_rate_;  // of the watched rows
  double intercept_rate_ = 0;
  double departure_ = 0;              // of the piece, from the direction at the last look
  std::vector<double> velocity_;      // of all betas, on the piece
  std::vector<double> beta_at_look_;  // of the margin set, or when a row joined it
  double gradient_noise_ = 0, margin_noise_ = 0;
};

}  // namespace widemargin
