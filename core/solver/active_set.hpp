// Which samples take part in a solve; gradients of the others are updated lazily.
//
// The universe starts small and grows to all samples; of it, those near the margin are active and
// kept up to date. The others are brought up to date when a round is over, or passed over where
// they provably cannot violate.
#pragma once

#include <vector>

#include "kernel/gram.hpp"
#include "solver/control.hpp"
#include "solver/extremes.hpp"
#include "solver/problem.hpp"

namespace widemargin {

template <class Real>
class ActiveSet {
 public:
  ActiveSet(const Problem& problem, Gram& gram, const SolverOptions& options,
            const Callbacks& callbacks, Team& team, Iterate& iterate);

  // By position: sample, gradient, beta and box of the active samples.
  std::vector<Index> samples;
  std::vector<double> gradients, betas, lower, upper;
  std::vector<double> diagonal;  // by sample

  Extremes survey() const;         // of the universe, as far as up to date
  Extremes survey_active() const;  // of the active samples
  bool complete() const { return universe_ == remaining_; }
  Size next_stage() const;  // samples in the universe after the next growth
  Size support() const;     // samples that are not at zero
  bool all_active() const { return samples.size() == universe_; }

  void select();       // chooses the active samples: free, violating, or near a violation
  void grow();         // the universe, to the next stage
  void look_at_all();  // the universe becomes everything
  // Brings the gradients of the universe up to date; false when the caller asks to stop. Passed
  // over are samples that provably cannot violate or, unless `certain`, probably do not.
  bool refresh(Control& control, const Progress& progress, bool certain);
  // Takes out samples that are certain to stay where they are; false when there was none, or when
  // it would not pay.
  bool screen(long steps);
  bool screens() const;  // whether it is asked on the way
  bool recall();         // brings them back; false when none was taken out

  // A sample moves; `gain` is the change of the dual objective.
  void move(Size position, double beta, double gain);
  void mark_anchors();  // the point each sample's gradient belongs to; ends the solve

 private:
  // beta at some moment, and the dual objective then (relative to the start).
  struct Snapshot {
    std::vector<double> beta;
    double objective;
  };

  // Screening decides by all gradients.
  bool wants_all() const { return callbacks_.screen || options_.every_gradient; }
  bool up_to_date(Index sample) const {
    return version_[Size(sample)] == Index(snapshots_.size() - 1);
  }
  bool bring_up(const Snapshot& snapshot, const std::vector<Index>& samples, Control& control,
                const Progress& progress);
  double slack(Index sample, const Extremes& extremes) const;
  std::vector<Index> near_margin(const Snapshot& snapshot, const std::vector<Index>& samples,
                                 const Extremes& extremes) const;
  std::vector<Index> within_reach(const std::vector<Index>& samples,
                                  const std::vector<Index>& probes,
                                  const std::vector<double>& slacks,
                                  const Extremes& extremes) const;
  double moved_since(const Snapshot& snapshot) const;
  void forget_snapshots();
  bool most_matter() const;
  bool removal_pays() const;
  void extend(Size universe);

  const Problem& problem_;
  const SolverOptions& options_;
  const Callbacks& callbacks_;
  RowCache<Real>& cache_;
  const Source& source_;
  Team& team_;
  Gram& gram_;
  const std::uint64_t evaluated_before_;
  Iterate& iterate_;
  double* beta_;
  double* gradient_;

  std::vector<Index> order_;  // the universe is its first universe_ members
  Size universe_ = 0;
  Size remaining_ = 0;     // beyond them stand the samples that screening has taken out
  bool cold_ = false;      // the solve begins at zero
  bool keeps_all_;         // all of the universe is active
  bool recalled_ = false;  // they have been brought back; no more screening
  double level_ = 0.0;     // where the gradients of free samples stood after the last round
  std::vector<Snapshot> snapshots_;
  double objective_ = 0.0;
  std::vector<Index> version_;  // of each sample's gradient: the snapshot it belongs to
};

}  // namespace widemargin
