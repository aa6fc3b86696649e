#include "block_solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "box_pairs.hpp"
#include "dispatch.hpp"

namespace widemargin {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Size kFirstStage = 2000;  // samples solved before any other is looked at
constexpr Size kStageGrowth = 4;
constexpr double kStageTolerance = 0.05;
constexpr double kMargin = 0.1;      // how near a violation a sample stays active
constexpr double kInnerShare = 0.1;  // working set solved to this share of the gap
constexpr double kKeepShare = 0.5;   // of a working set that stays for the next one

// Largest and smallest gradient over the samples that can move; optimal when they meet.
struct Extremes {
  double lowest_growing = kInfinity;
  double highest_falling = -kInfinity;

  void meet(double gradient, double beta, double lower, double upper) {
    if (beta < upper) lowest_growing = std::min(lowest_growing, gradient);
    if (beta > lower) highest_falling = std::max(highest_falling, gradient);
  }
  double violation(bool equality) const {
    if (equality) return std::max(0.0, highest_falling - lowest_growing);
    return std::max({0.0, -lowest_growing, highest_falling});
  }
  // The level -b at which optimal gradients of free samples meet.
  double level(bool equality) const {
    if (!equality) return 0.0;
    if (lowest_growing == kInfinity) return highest_falling == -kInfinity ? 0.0 : highest_falling;
    if (highest_falling == -kInfinity) return lowest_growing;
    return 0.5 * (lowest_growing + highest_falling);
  }
};

// beta at some moment, and the dual objective then (relative to the start).
struct Snapshot {
  std::vector<double> beta;
  double objective;
};

template <class Real>
class BlockSolver {
 public:
  BlockSolver(const Problem& problem, Gram& gram, const Options& options, double* beta,
              double* gradient)
      : problem_(problem),
        options_(options),
        control_(options),
        cache_(gram.cache<Real>()),
        source_(gram.source()),
        team_(gram.threads()),
        gram_(gram),
        beta_(beta),
        gradient_(gradient),
        version_(problem.n, 0) {
    snapshots_.push_back({std::vector<double>(beta, beta + problem.n), 0.0});
  }

  Outcome run() {
    stage();
    double target = first_target();
    for (;;) {
      const bool finished = solve_active(target);
      if (outcome_.status == Status::interrupted) return outcome_;
      // A stage is left after one round: it only has to give the next one a good start.
      universe_ = finished ? std::min(remaining_, universe_ * kStageGrowth) : problem_.n;
      refresh();
      outcome_.violation = survey().violation(problem_.equality);
      if (!finished) break;
      if (universe_ == remaining_) {
        if (outcome_.violation > options_.tolerance)
          screen();
        else if (!recall())
          break;
      }
      select();
      target =
          std::max(stage_tolerance(), std::min(kStageTolerance, kInnerShare * outcome_.violation));
    }
    return outcome_;
  }

  void mark_stale(bool* out) const {
    const bool unknown = outcome_.status == Status::interrupted;
    for (Size i = 0; i < problem_.n; ++i)
      out[i] = unknown || version_[i] != Index(snapshots_.size() - 1);
  }

 private:
  // ---- which samples take part ------------------------------------------------------------

  double stage_tolerance() const {
    return universe_ < remaining_ ? std::max(kStageTolerance, options_.tolerance)
                                  : options_.tolerance;
  }

  // With screening the way to the tolerance is cut, so that there is something to check between.
  double first_target() const {
    if (!options_.decide) return stage_tolerance();
    return std::max(stage_tolerance(), kInnerShare * survey().violation(problem_.equality));
  }

  // Takes out, until the end of the solve, the samples that are certain to stay where they are.
  void screen() {
    if (!options_.decide || recalled_) return;
    std::vector<char> keep(remaining_, 1);
    options_.decide(outcome_.steps, order_.data(), remaining_, keep.data());
    if (std::find(keep.begin(), keep.end(), 1) == keep.end()) return;
    std::vector<Index> decided;
    Size kept = 0;
    for (Size k = 0; k < remaining_; ++k) {
      if (keep[k])
        order_[kept++] = order_[k];
      else
        decided.push_back(order_[k]);
    }
    std::copy(decided.begin(), decided.end(), order_.begin() + std::ptrdiff_t(kept));
    universe_ = remaining_ = kept;
  }

  // At the end every sample is looked at again; true when one that was taken out violates after
  // all, which only rows of too low a precision can bring about.
  bool recall() {
    if (remaining_ == problem_.n) return false;
    universe_ = remaining_ = problem_.n;
    recalled_ = true;
    refresh();
    outcome_.violation = survey().violation(problem_.equality);
    return outcome_.violation > options_.tolerance;
  }

  void stage() {
    order_.resize(problem_.n);
    std::iota(order_.begin(), order_.end(), Index(0));
    const bool cold = std::all_of(beta_, beta_ + problem_.n, [](double b) { return b == 0.0; });
    universe_ = remaining_ = problem_.n;
    if (!cold) screen();
    if (cold && options_.shrinking && problem_.n > 2 * kFirstStage) {
      std::mt19937_64 generator(options_.seed);
      for (Size k = problem_.n - 1; k > 0; --k) std::swap(order_[k], order_[generator() % (k + 1)]);
      universe_ = kFirstStage;
    }
    diagonal_.resize(problem_.n);
    std::vector<Index> everyone(problem_.n);
    std::iota(everyone.begin(), everyone.end(), Index(0));
    source_.diagonal(everyone.data(), problem_.n, diagonal_.data());
    level_ = survey().level(problem_.equality);
    select();
  }

  Extremes survey() const {
    Extremes out;
    for (Size k = 0; k < universe_; ++k) {
      const Size i = Size(order_[k]);
      if (version_[i] == Index(snapshots_.size() - 1))
        out.meet(gradient_[i], beta_[i], problem_.lower[i], problem_.upper[i]);
    }
    return out;
  }

  // Chooses the active samples: free, violating, or near a violation.
  void select() {
    std::vector<Index> wanted;
    for (Size k = 0; k < universe_; ++k) {
      const Index i = order_[k];
      if (version_[Size(i)] != Index(snapshots_.size() - 1)) continue;
      const double above = gradient_[i] - level_;
      const bool grows = beta_[i]<problem_.upper[i], falls = beta_[i]> problem_.lower[i];
      if (!options_.shrinking || (grows && above < kMargin) || (falls && above > -kMargin))
        wanted.push_back(i);
    }
    active_ = cache_.arrange(wanted);
    const Size count = active_.size();
    g_.resize(count), b_.resize(count), lower_.resize(count), upper_.resize(count);
    for (Size p = 0; p < count; ++p) {
      const Size i = Size(active_[p]);
      g_[p] = gradient_[i], b_[p] = beta_[i];
      lower_[p] = problem_.lower[i], upper_[p] = problem_.upper[i];
    }
    working_.clear();
  }

  // Brings the gradients of the universe up to date. Active samples are; the others owe the
  // changes since the snapshot they were last computed at. A sample at zero whose gradient is
  // farther from the margin than w has moved since then is passed over: it cannot violate.
  // (Not with screening, which asks for the gradients of all.)
  void refresh() {
    std::vector<char> is_active(problem_.n, 0);
    for (Size p = 0; p < active_.size(); ++p) {
      const Size i = Size(active_[p]);
      gradient_[i] = g_[p];
      is_active[i] = 1;
    }
    const Size live = snapshots_.size();
    std::vector<std::vector<Index>> owing(live), passive(live);
    for (Size k = 0; k < universe_; ++k) {
      const Index i = order_[k];
      if (is_active[Size(i)]) continue;
      const Index v = version_[Size(i)];
      bool moved = beta_[i] != 0.0;
      for (const Snapshot& snapshot : snapshots_) moved = moved || snapshot.beta[Size(i)] != 0.0;
      (moved || options_.decide ? owing : passive)[Size(v)].push_back(i);
    }
    for (Size v = 0; v < live; ++v) bring_up(snapshots_[v], owing[v]);
    const Extremes extremes = survey_active();
    level_ = extremes.level(problem_.equality);
    for (Size v = 0; v < live; ++v) {
      if (passive[v].empty()) continue;
      const double radius = moved_since(snapshots_[v], extremes.level(problem_.equality));
      const double high = std::max(extremes.highest_falling, problem_.equality ? -kInfinity : 0.0);
      const double low = std::min(extremes.lowest_growing, problem_.equality ? kInfinity : 0.0);
      std::vector<Index> near;
      for (Index i : passive[v]) {
        const double reach = radius * std::sqrt(std::max(diagonal_[Size(i)], 0.0));
        const bool at_lower =
            problem_.lower[i] == 0.0 && gradient_[i] - reach > high + options_.tolerance;
        const bool at_upper =
            problem_.upper[i] == 0.0 && gradient_[i] + reach < low - options_.tolerance;
        if (!(at_lower || at_upper)) near.push_back(i);
      }
      bring_up(snapshots_[v], near);
      owing[v].insert(owing[v].end(), near.begin(), near.end());
    }
    snapshots_.push_back({std::vector<double>(beta_, beta_ + problem_.n), objective_});
    for (Index i : active_) version_[Size(i)] = Index(live);
    for (const auto& group : owing)
      for (Index i : group) version_[Size(i)] = Index(live);
    forget_snapshots();
  }

  // gradient += K (beta - snapshot) for the given samples
  void bring_up(const Snapshot& snapshot, const std::vector<Index>& samples) {
    if (samples.empty()) return;
    std::vector<Index> changed;
    std::vector<double> change;
    for (Size i = 0; i < problem_.n; ++i)
      if (beta_[i] != snapshot.beta[i]) {
        changed.push_back(Index(i));
        change.push_back(beta_[i] - snapshot.beta[i]);
      }
    if (changed.empty()) return;
    std::vector<double> sums(samples.size(), 0.0);
    source_.sweep(Sweep<Real>{changed.data(), changed.size(), samples.data(), samples.size(),
                              nullptr, change.data(), sums.data()},
                  team_);
    gram_.count(changed.size() * samples.size());
    for (Size k = 0; k < samples.size(); ++k) gradient_[samples[k]] += sums[k];
  }

  // Upper bound on ||w - w_snapshot||. The dual is quadratic, so with the gradient now,
  // 1/2 ||w - w_then||^2 = D_then - D_now + gradient' (beta_now - beta_then); every changed
  // sample's gradient is up to date when this is called.
  double moved_since(const Snapshot& snapshot, double level) const {
    double half_square = snapshot.objective - objective_, size = std::abs(half_square);
    for (Size i = 0; i < problem_.n; ++i) {
      const double change = beta_[i] - snapshot.beta[i];
      if (change == 0.0) continue;
      const double term = (gradient_[i] - level) * change;
      half_square += term;
      size += std::abs(term);
    }
    const double rounding = 1e-5 * size + 1e-9;
    return std::sqrt(2.0 * std::max(half_square, 0.0) + 2.0 * rounding);
  }

  void forget_snapshots() {
    std::vector<Index> renumber(snapshots_.size(), -1);
    renumber.back() = 0;
    for (Index v : version_) renumber[Size(v)] = 0;
    std::vector<Snapshot> kept;
    for (Size v = 0; v < snapshots_.size(); ++v)
      if (renumber[v] == 0) {
        renumber[v] = Index(kept.size());
        kept.push_back(std::move(snapshots_[v]));
      }
    snapshots_ = std::move(kept);
    for (Index& v : version_) v = renumber[Size(v)];
  }

  // ---- working sets -----------------------------------------------------------------------

  Extremes survey_active() const {
    Extremes out;
    for (Size p = 0; p < active_.size(); ++p) out.meet(g_[p], b_[p], lower_[p], upper_[p]);
    return out;
  }

  // Most violating samples from both sides, beside the most recent free members of the last set.
  void choose_working_set(const Extremes& extremes) {
    const Size capacity = std::min(working_capacity(), active_.size());
    std::vector<char> taken(active_.size(), 0);
    std::vector<Index> chosen;
    const Size keep = Size(double(capacity) * kKeepShare);
    for (int pass = 0; pass < 2; ++pass)  // free members first, then those at a bound
      for (auto p = working_.rbegin(); p != working_.rend() && chosen.size() < keep; ++p) {
        const Size k = Size(*p);
        const bool is_free = b_[k] > lower_[k] && b_[k] < upper_[k];
        if (taken[k] || is_free != (pass == 0)) continue;
        taken[k] = 1;
        chosen.push_back(*p);
      }
    std::reverse(chosen.begin(), chosen.end());
    kept_.clear();
    std::vector<Index> place(active_.size(), -1);
    for (Size k = 0; k < working_.size(); ++k) place[Size(working_[k])] = Index(k);
    for (Index p : chosen) kept_.push_back(place[Size(p)]);
    growing_.clear(), falling_.clear();
    const double up = problem_.equality ? extremes.highest_falling : 0.0;
    const double low = problem_.equality ? extremes.lowest_growing : 0.0;
    for (Size p = 0; p < active_.size(); ++p) {
      if (taken[p]) continue;
      if (b_[p] < upper_[p] && g_[p] < up) growing_.push_back({g_[p], Index(p)});
      if (b_[p] > lower_[p] && g_[p] > low) falling_.push_back({-g_[p], Index(p)});
    }
    const Size room = capacity - chosen.size();
    const auto best = [](std::vector<Candidate>& list, Size count) {
      count = std::min(count, list.size());
      std::partial_sort(list.begin(), list.begin() + std::ptrdiff_t(count), list.end());
      list.resize(count);
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

  Size working_capacity() const { return 512; }

  // Kernel block of the working set. Members kept from the last one bring their entries along.
  void fill_block(Size size) {
    const Size count = working_.size();
    std::vector<Real> block(size * size, Real(0));
    const Size kept = std::min(kept_.size(), count);
    const Size old_size = old_size_;
    for (Size a = 0; a < kept; ++a)
      for (Size b = 0; b < kept; ++b)
        block[a * size + b] = block_[Size(kept_[a]) * old_size + Size(kept_[b])];
    cache_.block(working_.data(), count, kept, size, block.data(), team_);
    for (Size a = 0; a < kept; ++a)
      for (Size b = kept; b < count; ++b) block[a * size + b] = block[b * size + a];
    block_ = std::move(block);
    old_size_ = size;
  }

  // One working set: solve it in cache, then move the gradient of all active samples.
  // Returns the steps taken.
  long solve_working_set(const Extremes& extremes, double target) {
    constexpr Size width = panel_width<Real>();
    const Size count = working_.size();
    const Size size = (count + width - 1) / width * width;
    const std::vector<Index>& positions = working_;
    fill_block(size);
    const double level = extremes.level(problem_.equality);
    const Real never = std::numeric_limits<Real>::infinity();
    std::vector<Real> diagonal(size, Real(1)), gradient(size, Real(0)), growth(size, never),
        fall(size, -never);
    std::vector<double> beta(size, 0.0), lower(size, 0.0), upper(size, 0.0);
    for (Size k = 0; k < count; ++k) {
      const Size p = Size(positions[k]);
      diagonal[k] = Real(diagonal_[Size(active_[p])]);
      gradient[k] = Real(g_[p] - level);
      beta[k] = b_[p], lower[k] = lower_[p], upper[k] = upper_[p];
      if (beta[k] < upper[k]) growth[k] = Real(0);
      if (beta[k] > lower[k]) fall[k] = Real(0);
    }
    const double gap = extremes.violation(problem_.equality);
    PairCall<Real> call{size,
                        block_.data(),
                        diagonal.data(),
                        gradient.data(),
                        growth.data(),
                        fall.data(),
                        beta.data(),
                        lower.data(),
                        upper.data(),
                        std::max(kInnerShare * gap, 0.5 * target),
                        std::min<long>(control_.steps_left(outcome_.steps), long(50 * count))};
    const long steps = problem_.equality ? routines<Real>().pairs(call) : box_pairs(call, count);
    std::vector<Index> changed;
    std::vector<double> change;
    for (Size k = 0; k < count; ++k) {
      const Size p = Size(positions[k]);
      if (beta[k] == b_[p]) continue;
      changed.push_back(active_[p]);
      change.push_back(beta[k] - b_[p]);
      // 1/2 (gradient before + gradient after) is the slope along the whole step
      objective_ += 0.5 * change.back() * (g_[p] - level + double(gradient[k]));
      b_[p] = beta[k];
      beta_[active_[p]] = beta[k];
    }
    cache_.apply(changed.data(), change.data(), changed.size(), g_.data(), team_);
    return changed.empty() ? 0 : steps;
  }

  // Blocks until the active samples are optimal to `target`; false when stopped for good.
  bool solve_active(double target) {
    for (;;) {
      const Extremes extremes = survey_active();
      const double gap = extremes.violation(problem_.equality);
      if (gap <= target) return true;
      if (control_.stop({outcome_.steps, gap, active_.size()}, outcome_.status)) return false;
      choose_working_set(extremes);
      const long steps = solve_working_set(extremes, target);
      outcome_.steps += steps;
      if (steps == 0) {  // no pair can move: the precision of the rows is exhausted
        outcome_.status = Status::stalled;
        return false;
      }
    }
  }

  using Candidate = std::pair<double, Index>;

  const Problem& problem_;
  const Options& options_;
  Control control_;
  RowCache<Real>& cache_;
  const Source& source_;
  Team team_;
  Gram& gram_;
  double* beta_;
  double* gradient_;

  std::vector<Index> order_;  // the universe is its first universe_ members
  Size universe_ = 0;
  Size remaining_ = 0;     // beyond them stand the samples that screening has taken out
  bool recalled_ = false;  // they have been brought back; no more screening
  double level_ = 0.0;     // where the gradients of free samples stood after the last round
  std::vector<Snapshot> snapshots_;
  double objective_ = 0.0;
  std::vector<Index> version_;  // of each sample's gradient: the snapshot it belongs to

  std::vector<Index> active_;  // by position: sample, gradient, beta, box
  std::vector<double> g_, b_, lower_, upper_;
  std::vector<double> diagonal_;  // by sample
  std::vector<Index> working_;
  std::vector<Index> kept_;  // where the first members of the working set stood in the last one
  Size old_size_ = 0;
  std::vector<Candidate> growing_, falling_;
  std::vector<Real> block_;
  Outcome outcome_;
};

}  // namespace

template <class Real>
Outcome solve_blocks(const Problem& problem, Gram& gram, const Options& options, double* beta,
                     double* gradient, bool* stale) {
  std::lock_guard<std::mutex> lock(gram.busy());
  BlockSolver<Real> solver(problem, gram, options, beta, gradient);
  const Outcome outcome = solver.run();
  solver.mark_stale(stale);
  return outcome;
}

template Outcome solve_blocks<float>(const Problem&, Gram&, const Options&, double*, double*,
                                     bool*);
template Outcome solve_blocks<double>(const Problem&, Gram&, const Options&, double*, double*,
                                      bool*);

}  // namespace widemargin
