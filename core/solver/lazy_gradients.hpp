// The gradients of all samples; those of inactive samples are updated lazily.
//
//   gradient = K beta - linear
//
// Each gradient belongs to a snapshot: beta at some earlier moment, or the present one. At the end
// of a round an inactive sample i receives K_i (beta - snapshot). Where the kernel is semidefinite,
// a sample that has stayed at zero is skipped if it cannot violate by now: its gradient has moved
// by no more than ||w - w_snapshot|| sqrt(K_ii), w in feature space. A cheaper, uncertain bound is
// the movement of a few probes.
#pragma once

#include <vector>

#include "kernel/gram.hpp"
#include "solver/control.hpp"
#include "solver/extremes.hpp"
#include "solver/options.hpp"
#include "solver/problem.hpp"

namespace widemargin {

// Which inactive samples an update may skip: those that provably cannot violate, or also those that
// probably do not.
enum class Skip { proven, probable };

template <class Real>
class LazyGradients {
 public:
  // `skips`: whether any sample may be skipped at all.
  LazyGradients(const Problem& problem, Gram& gram, const SolverOptions& options, bool skips,
                const std::vector<double>& diagonal, Team& team, Iterate& iterate);

  double operator[](Index i) const { return iterate_.gradient[i]; }
  // Whether bounds on the rounding of all gradients were given at the start.
  bool bounded() const { return bounded_; }
  bool is_current(Index i) const { return versions_[Size(i)] == latest(); }
  // The gradient of an active sample, and a bound on its rounding.
  void store(Index i, double gradient, double error);
  // A sample's beta moves, and the dual objective by `gain`.
  void note_move(Index i, double gain);

  // Ends a stage: `active` have been stored, `entering` get their first gradients, all others stay
  // behind; beta becomes the latest snapshot.
  void enter(const std::vector<Index>& active, const std::vector<Index>& entering, Control& control,
             const Progress& progress);
  // Ends a round: `active` have been stored, `inactive` are updated or skipped; beta becomes the
  // latest snapshot. `extremes` are those of the active samples.
  void update(const std::vector<Index>& active, const std::vector<Index>& inactive,
              const Extremes& extremes, Skip skip, Control& control, const Progress& progress);

  // Writes the point of each gradient to the iterate; ends the solve.
  void mark_anchors();

 private:
  struct Snapshot {
    std::vector<double> beta;
    double objective;  // relative to the start of the solve
  };
  // What has changed in beta since a snapshot: samples, and by how much.
  struct Change {
    std::vector<Index> samples;
    std::vector<double> amounts;
  };
  using Groups = std::vector<std::vector<Index>>;  // samples by snapshot
  // Slopes beyond which a sample at zero violates: of those that can fall, and that can grow.
  struct Thresholds {
    double low, high;
  };

  Index latest() const { return Index(snapshots_.size() - 1); }
  Change change_since(const Snapshot& snapshot) const;
  double moved_since(const Snapshot& snapshot, const Change& change, double level) const;
  Thresholds thresholds(const Extremes& extremes) const;
  double slack(Index i, const Thresholds& beyond) const;
  std::vector<Index> possible_violators(const Snapshot& snapshot, const Change& change,
                                        const std::vector<Index>& samples,
                                        const Extremes& extremes) const;
  std::vector<Index> probable_violators(const Change& change, const std::vector<Index>& samples,
                                        const Extremes& extremes, Control& control,
                                        const Progress& progress, std::vector<Index>& updated);
  void add(const Change& change, const std::vector<Index>& samples, Purpose purpose,
           Control& control, const Progress& progress);
  void sum_unbounded_anew(std::vector<Index>& samples, Control& control, const Progress& progress);
  void take_snapshot(const std::vector<Index>& active, const Groups& updated);
  void drop_unused_snapshots();

  const Problem& problem_;
  Gram& gram_;
  const Source& source_;
  const double tolerance_;
  const bool skips_;
  std::vector<double> norms_;  // by sample, in feature space
  Team& team_;
  Iterate& iterate_;
  const bool bounded_;
  std::vector<Snapshot> snapshots_;
  std::vector<Index> versions_;  // by sample: the snapshot its gradient belongs to
  std::vector<char> has_moved_;  // by sample: since the start of the solve
  std::vector<Index> moved_;     // those samples: what changes in beta is found among them
  double objective_ = 0.0;       // relative to the start of the solve
};

}  // namespace widemargin
