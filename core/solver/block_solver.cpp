#include "solver/block_solver.hpp"

#include <algorithm>
#include <cmath>

#include "solver/active_set.hpp"
#include "solver/control.hpp"
#include "solver/sub_problem.hpp"
#include "solver/working_set.hpp"

namespace widemargin {

namespace {

constexpr long kLongestSolve = 40000;    // pair steps between two calls of the monitor
constexpr double kStageTolerance = 0.2;  // how far a stage is solved that is not the last
constexpr double kInnerShare = 0.1;      // of the violation, to which a working set is solved
constexpr double kInnerTarget = 0.5;     // but no further than this share of the target
constexpr double kWholeTarget = 0.9;   // of the target: rounding of the sums must not lift it above
constexpr double kMostRoom = 0.6;      // share of the target that may be left to rounding
constexpr double kScreenShare = 0.01;  // of the violation, between two calls of screening
constexpr double kLateShare = 0.25;    // of a time limit by which a last update may exceed it

template <class Real>
class BlockSolver {
 public:
  BlockSolver(const Problem& problem, Gram& gram, const SolverOptions& options,
              const Callbacks& callbacks, Iterate& iterate)
      : problem_(problem),
        options_(options),
        iterate_(iterate),
        gram_(gram),
        control_(options, callbacks),
        team_(gram.threads()),
        active_(problem, gram, options, callbacks, team_, iterate),
        working_(active_, gram.cache<Real>(), team_, problem.equality) {}

  Outcome run() {
    try {
      const Status status = solve();
      active_.mark_anchors();
      return {status, steps_};
    } catch (const Interrupted&) {
      std::fill_n(iterate_.anchors, problem_.n, kUnknown);
      return {Status::interrupted, steps_};
    }
  }

 private:
  Status solve() {
    double target = first_target();
    for (;;) {
      Status status = solve_active(target);
      if (status == Status::converged && !next_stage_fits()) status = Status::max_seconds;
      if (status != Status::converged) {
        update_at_the_end(status);
        return status;
      }
      // A stage is left after one round: it only has to give the next one a good start.
      if (!active_.complete()) {
        enter_next_stage();
      } else {
        update_gradients(Skip::probable);
        if (optimal()) active_.bound_rounding();
        if (optimal()) update_gradients(Skip::proven);
        if (optimal()) check_screened();
        if (optimal()) return Status::converged;
      }
      shrink();
      target = next_target();
    }
  }

  bool optimal() const {
    return active_.complete() && violation_ <= asked_tolerance() && violation_ <= last_tolerance();
  }

  // ---- targets ----

  double asked_tolerance() const {
    return (problem_.second ? problem_.second->unit() : 1.0) * options_.tolerance;
  }

  // Less than asked by what the rounding of entries may have left in a violation, the difference of
  // two gradients: what is verified to exceed the tolerance has to be verified a second time.
  double last_tolerance() const {
    const double asked = asked_tolerance();
    if (options_.entry_error == 0.0) return asked;
    double squares = 0.0;
    for (Size i = 0; i < problem_.n; ++i) squares += iterate_.beta[i] * iterate_.beta[i];
    return asked - std::min(kMostRoom * asked, 2.0 * options_.entry_error * std::sqrt(squares));
  }

  double tolerance() const {
    if (!active_.complete() && asked_tolerance() <= kStageTolerance) return kStageTolerance;
    return active_.complete() ? last_tolerance() : std::max(kStageTolerance, last_tolerance());
  }

  double first_target() const {
    if (!screens_on_the_way()) return tolerance();
    const double violation = active_.extremes().violation(problem_.equality);
    return std::max(tolerance(), kScreenShare * violation);
  }

  // Solving tightly pays only once the support vectors are known.
  double next_target() const {
    if (screens_on_the_way()) return std::max(tolerance(), kScreenShare * violation_);
    if (violation_ < kStageTolerance) return tolerance();
    return std::max(tolerance(), std::min(kStageTolerance, kInnerShare * violation_));
  }

  // Where all gradients are up to date, a solve with screening is cut into rounds to screen
  // between.
  bool screens_on_the_way() const { return active_.screens() && active_.all_active(); }

  // ---- one round ----

  // Working sets until the active samples are optimal to `target`: converged, or why not.
  Status solve_active(double target) {
    bool first = true, whole = false;
    for (;;) {
      active_.recentre(false);
      const Extremes extremes = active_.active_extremes();
      const double violation = extremes.violation(problem_.equality);
      if (violation <= target) return Status::converged;
      const Status limit = control_.limit_reached(steps_);
      if (limit != Status::converged) return limit;
      control_.report({steps_, violation, active_.size()});
      if (first) whole = working_.choose_all();
      first = false;
      if (!whole) working_.choose(extremes);
      const double inner =
          whole ? kWholeTarget * target : std::max(kInnerShare * violation, kInnerTarget * target);
      const long steps = solve_working_set(extremes, inner);
      if (steps == 0) return Status::stalled;  // no pair can move: precision is exhausted
      steps_ += steps;
    }
  }

  // Pair steps on the working set; returns their number, 0 where no variable has moved.
  long solve_working_set(const Extremes& extremes, double tolerance) {
    SubProblem<Real> sub(active_, working_.members(), extremes.level(problem_.equality));
    const long steps = take_pair_steps(sub, tolerance);
    const std::vector<Move> moves = sub.moves();
    active_.apply(moves);
    return moves.empty() ? 0 : steps;
  }

  long take_pair_steps(SubProblem<Real>& sub, double tolerance) {
    const WorkLog::Timer timer(gram_.log(), Activity::pair_steps);
    const long limit = std::min(control_.steps_left(steps_), kLongestSolve);
    return sub.solve(working_.rows(), problem_.equality, tolerance, limit);
  }

  // ---- between rounds ----

  void enter_next_stage() {
    timed_update([&] { active_.enter_next_stage(control_, steps_); });
  }

  void update_gradients(Skip skip) {
    timed_update([&] { active_.update_gradients(control_, steps_, skip); });
  }

  template <class Update>
  void timed_update(const Update& update) {
    const double left = control_.seconds_left();
    const std::uint64_t asked = gram_.log().asked();
    update();
    active_.recentre(true);
    violation_ = active_.extremes().violation(problem_.equality);
    const double entries = double(gram_.log().asked() - asked);
    if (left < kInfinity && entries > 0)
      seconds_per_entry_ = (left - control_.seconds_left()) / entries;
  }

  // Samples that screening took out are checked as well before a solution is believed.
  void check_screened() {
    if (!active_.has_screened()) return;
    active_.restore_screened();
    update_gradients(Skip::proven);
  }

  // Where nothing was taken out and all are active, the same working set goes on.
  void shrink() {
    bool removed = false;
    if (active_.complete()) removed = active_.screen(steps_);
    if (!removed && active_.all_active()) return;
    active_.select(steps_ == steps_at_selection_);
    steps_at_selection_ = steps_;
    working_.clear();
  }

  // ---- the end, where a limit comes first ----

  double update_seconds(Size samples) const {
    return seconds_per_entry_ * double(samples) * double(active_.support());
  }

  // Whether the next stage can be brought up to date before the time is up, judged by the last.
  bool next_stage_fits() const {
    return active_.complete() || update_seconds(active_.next_stage()) <= control_.seconds_left();
  }

  // All samples enter the certificate, but where that would exceed a time limit by much: on many
  // samples it may take longer than all before.
  void update_at_the_end(Status status) {
    const bool measured = seconds_per_entry_ > 0;
    const bool is_short =
        measured && update_seconds(problem_.n) <= kLateShare * options_.max_seconds;
    if (active_.complete() || status != Status::max_seconds || is_short) active_.include_all();
    update_gradients(Skip::proven);
  }

  const Problem& problem_;
  const SolverOptions& options_;
  Iterate& iterate_;
  Gram& gram_;
  Control control_;
  Team team_;
  ActiveSet<Real> active_;
  WorkingSet<Real> working_;

  long steps_ = 0, steps_at_selection_ = -1;
  double violation_ = 0.0;          // of the universe, when its gradients were last updated
  double seconds_per_entry_ = 0.0;  // of the last update; measured where there is a time limit
};

}  // namespace

Outcome solve_blocks(const Problem& problem, Gram& gram, const SolverOptions& options,
                     const Callbacks& callbacks, Iterate& iterate) {
  std::lock_guard<std::mutex> lock(gram.busy());
  if (options.single_precision)
    return BlockSolver<float>(problem, gram, options, callbacks, iterate).run();
  return BlockSolver<double>(problem, gram, options, callbacks, iterate).run();
}

}  // namespace widemargin
