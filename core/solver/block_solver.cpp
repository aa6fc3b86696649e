#include "solver/block_solver.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "simd/dispatch.hpp"
#include "solver/active_set.hpp"
#include "solver/box_pairs.hpp"

namespace widemargin {

namespace {

constexpr Size kWorkingSet = 1008;    // rows of a power of two would fall into the same cache lines
constexpr Size kBoxWorkingSet = 496;  // its pair steps cost more per member
constexpr long kLongestSolve = 40000;  // steps between two looks at the caller's wish
constexpr double kWholeCost = 3e7;  // of all entries between active samples: then all are evaluated
constexpr double kStageTolerance = 0.2;  // how far a stage is solved that is not the last
constexpr double kInnerShare = 0.1;      // working set solved to this share of the gap
constexpr double kCheckShare = 0.01;     // of the violation, between two checks of screening
constexpr double kKeepShare = 0.5;       // of a working set that stays for the next one
constexpr double kLateShare = 0.25;      // of a time limit by which a last look may exceed it

template <class Real>
class BlockSolver {
 public:
  BlockSolver(const Problem& problem, Gram& gram, const SolverOptions& options,
              const Callbacks& callbacks, Iterate& iterate)
      : problem_(problem),
        options_(options),
        control_(options, callbacks),
        gram_(gram),
        cache_(gram.cache<Real>()),
        team_(gram.threads()),
        set_(problem, gram, options, callbacks, team_, iterate),
        iterate_(iterate) {}

  Outcome run() {
    double target = first_target();
    for (;;) {
      const bool finished = solve_active(target) && stage_in_time();
      if (outcome_.status == Status::interrupted) return outcome_;
      // A stage is left after one round: it only has to give the next one a good start.
      if (finished)
        set_.grow();
      else if (set_.complete() || outcome_.status != Status::max_seconds || last_look_is_short())
        set_.look_at_all();
      if (!refresh(!finished) || !finished) return outcome_;
      if (optimal() && !refresh(true)) return outcome_;
      if (optimal() && (!set_.recall() || !refresh(true) || optimal())) return outcome_;
      const bool fewer = set_.complete() && set_.screen(outcome_.steps);
      if (fewer || !set_.all_active()) {  // else the same samples, and the same working set, go on
        set_.select();
        working_.clear();
      }
      target = next_target();
    }
  }

  // An interrupted solve leaves gradients of several points behind.
  void mark_anchors() {
    if (outcome_.status == Status::interrupted)
      std::fill_n(iterate_.anchors, problem_.n, kUnknown);
    else
      set_.mark_anchors();
  }

 private:
  bool optimal() const { return set_.complete() && violation_ <= options_.tolerance; }

  double tolerance() const {
    return set_.complete() ? options_.tolerance : std::max(kStageTolerance, options_.tolerance);
  }

  // Solving tightly pays only once the samples that matter are known.
  double next_target() const {
    if (checks_on_the_way()) return std::max(tolerance(), kCheckShare * violation_);
    if (violation_ < kStageTolerance) return tolerance();
    return std::max(tolerance(), std::min(kStageTolerance, kInnerShare * violation_));
  }

  // With screening the way to the tolerance is cut, so that there is something to check between:
  // where everybody's gradient is at hand.
  bool checks_on_the_way() const { return set_.screens() && set_.all_active(); }

  double first_target() const {
    if (!checks_on_the_way()) return tolerance();
    return std::max(tolerance(), kCheckShare * set_.survey().violation(problem_.equality));
  }

  // Whether the next stage can be brought up to date before the time is up, judged by the last.
  bool stage_in_time() {
    const double cost = per_entry_ * double(set_.next_stage()) * double(set_.support());
    if (set_.complete() || cost <= control_.seconds_left()) return true;
    outcome_.status = Status::max_seconds;
    return false;
  }

  // When the time is up: whether a look at everybody would not exceed it by much. On many samples
  // it may take longer than all before.
  bool last_look_is_short() const {
    const double cost = per_entry_ * double(problem_.n) * double(set_.support());
    return per_entry_ > 0 && cost <= kLateShare * options_.max_seconds;
  }

  // Gradients up to date, and the violation they show; false when interrupted.
  bool refresh(bool certain) {
    const double left = control_.seconds_left();
    const std::uint64_t evaluated = gram_.evaluated();
    const bool done = look(certain);
    const double entries = double(gram_.evaluated() - evaluated);
    if (left < kInfinity && entries > 0) per_entry_ = (left - control_.seconds_left()) / entries;
    return done;
  }

  bool look(bool certain) {
    if (!set_.refresh(control_, {outcome_.steps, violation_, set_.samples.size()}, certain)) {
      outcome_.status = Status::interrupted;
      return false;
    }
    violation_ = set_.survey().violation(problem_.equality);
    return true;
  }

  // Most violating samples from both sides, beside the most recent free members of the last set.
  void choose_working_set(const Extremes& extremes) {
    const Size capacity =
        std::min(problem_.equality ? kWorkingSet : kBoxWorkingSet, set_.samples.size());
    std::vector<char> taken(set_.samples.size(), 0);
    std::vector<Index> chosen;
    const Size keep = Size(double(capacity) * kKeepShare);
    for (int pass = 0; pass < 2; ++pass)  // free members first, then those at a bound
      for (auto p = working_.rbegin(); p != working_.rend() && chosen.size() < keep; ++p) {
        const Size k = Size(*p);
        const bool is_free = set_.betas[k] > set_.lower[k] && set_.betas[k] < set_.upper[k];
        if (taken[k] || is_free != (pass == 0)) continue;
        taken[k] = 1;
        chosen.push_back(*p);
      }
    std::reverse(chosen.begin(), chosen.end());
    kept_.clear();
    std::vector<Index> place(set_.samples.size(), -1);
    for (Size k = 0; k < working_.size(); ++k) place[Size(working_[k])] = Index(k);
    for (Index p : chosen) kept_.push_back(place[Size(p)]);
    growing_.clear(), falling_.clear();
    const double up = problem_.equality ? extremes.highest_falling : 0.0;
    const double low = problem_.equality ? extremes.lowest_growing : 0.0;
    for (Size p = 0; p < set_.samples.size(); ++p) {
      if (taken[p]) continue;
      if (set_.betas[p] < set_.upper[p] && set_.gradients[p] < up)
        growing_.push_back({set_.gradients[p], Index(p)});
      if (set_.betas[p] > set_.lower[p] && set_.gradients[p] > low)
        falling_.push_back({-set_.gradients[p], Index(p)});
    }
    const Size room = capacity - chosen.size();
    const auto best = [](std::vector<Candidate>& list, Size count) {
      if (list.size() > count) {  // the worst violators, in no particular order
        std::nth_element(list.begin(), list.begin() + std::ptrdiff_t(count), list.end());
        list.resize(count);
      }
      std::sort(list.begin(), list.end());
    };
    best(growing_, room);
    best(falling_, room);
    for (Size k = 0; chosen.size() < capacity && (k < growing_.size() || k < falling_.size()); ++k)
      for (const auto* list : {&growing_, &falling_})
        if (k < list->size() && chosen.size() < capacity) {
          const Index p = (*list)[k].second;
          if (!taken[Size(p)]) taken[Size(p)] = 1, chosen.push_back(p);
        }
    working_ = chosen;
  }

  // Where all entries between the active samples are known, they are one working set.
  bool take_all() {
    const double count = double(set_.samples.size());
    if (!problem_.equality || count * count * cache_.entry_cost() > kWholeCost) return false;
    rows_ = cache_.table(team_);
    if (rows_.empty()) return false;
    working_.resize(rows_.size());
    std::iota(working_.begin(), working_.end(), Index(0));
    return true;
  }

  // Kernel block of the working set. Members kept from the last one bring their entries along.
  void fill_block(Size size) {
    const Size count = working_.size();
    std::vector<Real>& block = next_block_;  // two buffers take turns: no page is new twice
    block.resize(size * size);
    const Size kept = std::min(kept_.size(), count);
    for (Size a = 0; a < kept; ++a) {
      const Real* from = block_.data() + Size(kept_[a]) * old_size_;
      Real* to = block.data() + a * size;
      for (Size b = 0; b < kept; ++b) to[b] = from[kept_[b]];
    }
    cache_.block(working_.data(), count, kept, size, block.data(), team_);
    constexpr Size tile = 32;  // mirrored by tiles that stay in the first-level cache
    for (Size first = 0; first < kept; first += tile)
      for (Size b = kept; b < count; ++b)
        for (Size a = first; a < std::min(first + tile, kept); ++a)
          block[a * size + b] = block[b * size + a];
    for (Size a = 0; a < count; ++a)
      std::fill(block.begin() + std::ptrdiff_t(a * size + count),
                block.begin() + std::ptrdiff_t((a + 1) * size), Real(0));
    std::fill(block.begin() + std::ptrdiff_t(count * size), block.end(), Real(0));
    std::swap(block_, next_block_);
    old_size_ = size;
    rows_.resize(count);
    for (Size a = 0; a < count; ++a) rows_[a] = block_.data() + a * size;
  }

  Size padded_size() const {
    constexpr Size width = panel_width<Real>();
    return (working_.size() + width - 1) / width * width;
  }

  // One working set: solve it in cache, then move the gradient of all active samples.
  // Returns the steps taken.
  long solve_working_set(const Extremes& extremes, double inner_tolerance) {
    const Size count = working_.size(), size = padded_size();
    const std::vector<Index>& positions = working_;
    const double level = extremes.level(problem_.equality);
    const Real never = std::numeric_limits<Real>::infinity();
    std::vector<Real> diagonal(size, Real(1)), gradient(size, Real(0)), growth(size, never),
        fall(size, -never);
    std::vector<double> beta(size, 0.0), lower(size, 0.0), upper(size, 0.0);
    for (Size k = 0; k < count; ++k) {
      const Size p = Size(positions[k]);
      diagonal[k] = Real(set_.diagonal[Size(set_.samples[p])]);
      gradient[k] = Real(set_.gradients[p] - level);
      beta[k] = set_.betas[p], lower[k] = set_.lower[p], upper[k] = set_.upper[p];
      if (beta[k] < upper[k]) growth[k] = Real(0);
      if (beta[k] > lower[k]) fall[k] = Real(0);
    }
    PairCall<Real> call{size,
                        rows_.data(),
                        diagonal.data(),
                        gradient.data(),
                        growth.data(),
                        fall.data(),
                        beta.data(),
                        lower.data(),
                        upper.data(),
                        inner_tolerance,
                        std::min(control_.steps_left(outcome_.steps), kLongestSolve)};
    const long steps = problem_.equality ? routines<Real>().pairs(call) : box_pairs(call, count);
    std::vector<Index> changed;
    std::vector<double> change;
    std::vector<char> keep;
    for (Size k = 0; k < count; ++k) {
      const Size p = Size(positions[k]);
      if (beta[k] == set_.betas[p]) continue;
      // A member that has reached a bound mostly stays there: its row is not worth the memory.
      keep.push_back(beta[k] > lower[k] && beta[k] < upper[k]);
      changed.push_back(set_.samples[p]);
      change.push_back(beta[k] - set_.betas[p]);
      // 1/2 (gradient before + gradient after) is the slope along the whole step
      const double gain = 0.5 * change.back() * (set_.gradients[p] - level + double(gradient[k]));
      set_.move(p, beta[k], gain);
    }
    cache_.apply(changed.data(), change.data(), keep.data(), changed.size(), set_.gradients.data(),
                 team_);
    return changed.empty() ? 0 : steps;
  }

  // Blocks until the active samples are optimal to `target`; false when stopped for good.
  bool solve_active(double target) {
    bool all = false;
    for (bool first = true;; first = false) {
      const Extremes extremes = set_.survey_active();
      const double gap = extremes.violation(problem_.equality);
      violation_ = gap;
      if (gap <= target) return true;
      if (control_.stop({outcome_.steps, gap, set_.samples.size()}, outcome_.status)) return false;
      if (first) all = take_all();
      double inner_tolerance = 0.9 * target;  // rounding of the sums must not lift it above
      if (!all) {
        choose_working_set(extremes);
        fill_block(padded_size());
        inner_tolerance = std::max(kInnerShare * gap, 0.5 * target);
      }
      const long steps = solve_working_set(extremes, inner_tolerance);
      outcome_.steps += steps;
      if (steps == 0) {  // no pair can move: the precision of the rows is exhausted
        outcome_.status = Status::stalled;
        return false;
      }
    }
  }

  using Candidate = std::pair<double, Index>;

  const Problem& problem_;
  const SolverOptions& options_;
  Control control_;
  Gram& gram_;
  RowCache<Real>& cache_;
  Team team_;
  ActiveSet<Real> set_;
  Iterate& iterate_;

  std::vector<Index> working_;  // positions in the active set
  std::vector<Index> kept_;     // where its first members stood in the last working set
  Size old_size_ = 0;
  double per_entry_ = 0.0;  // seconds, as the last look took them
  std::vector<Candidate> growing_, falling_;
  std::vector<Real> block_, next_block_;
  std::vector<const Real*> rows_;  // of the working set
  double violation_ = 0.0;
  Outcome outcome_;
};

template <class Real>
Outcome solve(const Problem& problem, Gram& gram, const SolverOptions& options,
              const Callbacks& callbacks, Iterate& iterate) {
  BlockSolver<Real> solver(problem, gram, options, callbacks, iterate);
  const Outcome outcome = solver.run();
  solver.mark_anchors();
  return outcome;
}

}  // namespace

Outcome solve_blocks(const Problem& problem, Gram& gram, const SolverOptions& options,
                     const Callbacks& callbacks, Iterate& iterate) {
  std::lock_guard<std::mutex> lock(gram.busy());
  return options.single_precision ? solve<float>(problem, gram, options, callbacks, iterate)
                                  : solve<double>(problem, gram, options, callbacks, iterate);
}

}  // namespace widemargin
