// The samples of a solve: stages, shrinking and screening; beta, box and gradient of the active.
//
// The universe is the part of the samples that is solved for: it starts small and grows by stages
// to all of them, but for those that screening has taken out. Of the universe the samples near the
// margin are active (shrinking: Joachims 1999): their gradients are updated with every working set,
// the others' lazily. The active samples are numbered by position, in the order of the row cache.
#pragma once

#include <vector>

#include "kernel/gram.hpp"
#include "kernel/position.hpp"
#include "simd/dispatch.hpp"
#include "solver/control.hpp"
#include "solver/extremes.hpp"
#include "solver/lazy_gradients.hpp"
#include "solver/options.hpp"
#include "solver/problem.hpp"

namespace widemargin {

// A variable of the working set after its sub-problem was solved.
struct Move {
  Position position;
  double beta;
  double gain;  // change of the dual objective
};

template <class Real>
class ActiveSet {
 public:
  ActiveSet(const Problem& problem, Gram& gram, const SolverOptions& options,
            const Callbacks& callbacks, Team& team, Iterate& iterate);
  ActiveSet(const ActiveSet&) = delete;
  ActiveSet& operator=(const ActiveSet&) = delete;

  Size size() const { return samples_.size(); }
  Positions positions() const { return samples_.positions(); }
  double gradient(Position p) const { return gradients_[p]; }
  double beta(Position p) const { return betas_[p]; }
  double lower(Position p) const { return lower_[p]; }
  double upper(Position p) const { return upper_[p]; }
  double kink(Position p) const { return kinks_[p]; }
  bool two_sums() const { return problem_.second != nullptr; }
  double diagonal(Position p) const { return diagonal_[Size(samples_[p])]; }
  bool can_grow(Position p) const { return betas_[p] < upper_[p]; }
  bool can_fall(Position p) const { return betas_[p] > lower_[p]; }
  double growth_slope(Position p) const {
    return gradients_[p] + growth_offset(betas_[p], kinks_[p]);
  }
  double fall_slope(Position p) const { return gradients_[p] + fall_offset(betas_[p], kinks_[p]); }
  bool is_free(Position p) const {
    const double beta = betas_[p];
    return beta > lower_[p] && beta < upper_[p] &&
           !(beta == 0.0 && problem_.stops_at_zero(samples_[p]));
  }
  Size free_count() const { return free_count_; }
  Slopes slopes() const {
    return {gradients_.data(), betas_.data(), lower_.data(), upper_.data(), kinks_.data(), size()};
  }
  Extremes active_extremes() const;
  // Of a second sum: moves its multiplier to where the levels of both sides meet, over the active
  // samples or the universe.
  void recentre(bool whole);
  Extremes extremes() const;  // of the universe, as far as gradients are up to date

  // Takes over beta, and updates the gradients of all active samples.
  void apply(const std::vector<Move>& moves);
  // Sums the gradients of the active samples a second time, where most of the rows are cached: the
  // difference and the rounding of the second sum bound the rounding of the first.
  void bound_rounding();

  bool complete() const { return universe_ == remaining_; }  // no stage is left
  Size next_stage() const;                                   // samples in the next universe
  // Grows the universe to the next stage, whose samples get their gradients. Those of the inactive
  // samples before are left behind: they are all updated once the last stage is solved.
  void enter_next_stage(Control& control, long steps);
  void include_all();  // the universe becomes everything

  Size support() const;  // samples that are not at zero
  bool all_active() const { return size() == universe_; }
  void select(bool stuck);  // shrinking: free, violating, or near a violation are active
  // Brings the gradients of the universe up to date, but for those it may skip.
  void update_gradients(Control& control, long steps, Skip skip);

  bool screens() const;     // whether screening is asked on the way
  bool screen(long steps);  // takes out what is certain to stay at its bound; true if anything
  bool has_screened() const { return remaining_ < problem_.n; }
  void restore_screened();  // the universe becomes everything, and stays so

  void mark_anchors();  // writes the point of each gradient to the iterate; ends the solve

 private:
  // Screening decides by all gradients.
  bool needs_every_gradient() const { return callbacks_.screen || options_.every_gradient; }
  bool most_are_support() const;
  bool second_sum_pays() const;
  bool rows_are_worth_keeping() const;
  bool removal_pays() const;
  void keep_few_leaving(std::vector<Index>& wanted) const;
  void shuffle();
  void grow();
  void extend(Size universe);
  Progress store_active(long steps);
  void activate_stage();
  void take_over(Position first);
  void forget_errors();
  std::vector<Index> support_samples() const;
  std::vector<Index> inactive() const;

  const Problem& problem_;
  const SolverOptions& options_;
  const Callbacks& callbacks_;
  RowCache<Real>& cache_;
  Team& team_;
  Gram& gram_;
  const std::uint64_t asked_before_;
  Iterate& iterate_;
  std::vector<double> diagonal_;  // by sample
  LazyGradients<Real> lazy_;

  // Of the active samples:
  ByPosition<Index> samples_;
  ByPosition<double> gradients_, errors_, betas_, lower_, upper_, kinks_;
  bool errors_known_ = false;  // else all are infinite
  Size free_count_ = 0;

  std::vector<Index> order_;  // universe, then later stages, then what screening has taken out
  Size universe_;
  Size remaining_;         // samples that screening has left
  bool cold_;              // the solve begins at zero
  bool keeps_all_;         // no shrinking: all of the universe is active
  bool restored_ = false;  // what screening took out is back; no more screening
  double level_;           // at which the gradients of free samples met after the last round
};

}  // namespace widemargin
