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
constexpr Size kFirstStage = 2000;    // samples solved before any other is looked at
constexpr Size kStageGrowth = 4;
constexpr double kStageTolerance = 0.05;
constexpr double kMargin = 0.1;       // how near a violation a sample stays active
constexpr double kInnerShare = 0.1;   // working set solved to this share of the gap
constexpr double kKeepShare = 0.5;    // of a working set that stays for the next one

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
    snapshots_.emplace_back(beta, beta + problem.n);
  }

  Outcome run() {
    stage();
    double target = first_target();
    for (;;) {
      const bool finished = solve_active(target);
      refresh();
      const Extremes extremes = survey();
      outcome_.violation = extremes.violation(problem_.equality);
      if (!finished) break;
      if (universe_ < remaining_) {
        if (outcome_.violation <= stage_tolerance()) {
          universe_ = std::min(remaining_, universe_ * kStageGrowth);
          refresh();
        }
      } else if (outcome_.violation > options_.tolerance) {
        screen();
      } else if (!recall()) {
        break;
      }
      const Extremes wider = survey();
      const double violation = wider.violation(problem_.equality);
      select(wider);
      target = std::max(stage_tolerance(), kInnerShare * violation);
    }
    universe_ = remaining_ = problem_.n;
    if (outcome_.status != Status::converged) {
      refresh();
      outcome_.violation = survey().violation(problem_.equality);
    }
    return outcome_;
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
    select(survey());
  }

  Extremes survey() const {
    Extremes out;
    for (Size k = 0; k < universe_; ++k) {
      const Size i = Size(order_[k]);
      out.meet(gradient_[i], beta_[i], problem_.lower[i], problem_.upper[i]);
    }
    return out;
  }

  // Chooses the active samples: free, violating, or near a violation.
  void select(const Extremes& extremes) {
    const double level = extremes.level(problem_.equality);
    const double margin = std::max(kMargin, extremes.violation(problem_.equality));
    std::vector<Index> wanted;
    for (Size k = 0; k < universe_; ++k) {
      const Index i = order_[k];
      const double above = gradient_[i] - level;
      const bool grows = beta_[i] < problem_.upper[i], falls = beta_[i] > problem_.lower[i];
      if (!options_.shrinking || (grows && above < margin) || (falls && above > -margin))
        wanted.push_back(i);
    }
    active_ = cache_.arrange(wanted);
    const Size count = active_.size();
    g_.resize(count), b_.resize(count), lower_.resize(count), upper_.resize(count);
    diagonal_.resize(count);
    source_.diagonal(active_.data(), count, diagonal_.data());
    for (Size p = 0; p < count; ++p) {
      const Size i = Size(active_[p]);
      g_[p] = gradient_[i], b_[p] = beta_[i];
      lower_[p] = problem_.lower[i], upper_[p] = problem_.upper[i];
    }
    working_.clear();
  }

  // Brings the gradient of every sample of the universe up to date: active ones are, the others
  // owe the changes since the snapshot they were last computed at.
  void refresh() {
    std::vector<char> is_active(problem_.n, 0);
    for (Size p = 0; p < active_.size(); ++p) {
      const Size i = Size(active_[p]);
      gradient_[i] = g_[p];
      is_active[i] = 1;
    }
    std::vector<std::vector<Index>> owing(snapshots_.size());
    for (Size k = 0; k < universe_; ++k) {
      const Index i = order_[k];
      if (!is_active[Size(i)]) owing[Size(version_[Size(i)])].push_back(i);
    }
    for (Size v = 0; v < owing.size(); ++v) {
      if (owing[v].empty()) continue;
      std::vector<Index> changed;
      std::vector<double> change;
      for (Size i = 0; i < problem_.n; ++i)
        if (beta_[i] != snapshots_[v][i]) {
          changed.push_back(Index(i));
          change.push_back(beta_[i] - snapshots_[v][i]);
        }
      if (changed.empty()) continue;
      std::vector<double> sums(owing[v].size(), 0.0);
      source_.sweep(Sweep<Real>{changed.data(), changed.size(), owing[v].data(), owing[v].size(),
                                nullptr, change.data(), sums.data()},
                    team_);
      gram_.count(changed.size() * owing[v].size());
      for (Size k = 0; k < owing[v].size(); ++k) gradient_[owing[v][k]] += sums[k];
    }
    snapshots_.emplace_back(beta_, beta_ + problem_.n);
    for (Size k = 0; k < universe_; ++k) version_[Size(order_[k])] = Index(snapshots_.size() - 1);
    drop_unused_snapshots();
  }

  // In use are the one of now, the start (samples not looked at yet) and those at which samples
  // were taken out.
  void drop_unused_snapshots() {
    std::vector<Index> number(snapshots_.size(), -1);
    for (Index version : version_) number[Size(version)] = 0;
    Size used = 0;
    for (Size v = 0; v < snapshots_.size(); ++v) {
      if (number[v] < 0) continue;
      if (used != v) snapshots_[used] = std::move(snapshots_[v]);
      number[v] = Index(used++);
    }
    snapshots_.resize(used);
    for (Index& version : version_) version = number[Size(version)];
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

  // One working set: solve it in cache, then move the gradient of all active samples.
  // Returns the steps taken.
  long solve_working_set(const Extremes& extremes, double target) {
    constexpr Size width = panel_width<Real>();
    const Size count = working_.size();
    const Size size = (count + width - 1) / width * width;
    std::vector<Index> positions(working_);
    std::sort(positions.begin(), positions.end());
    block_.assign(size * size, Real(0));
    cache_.block(positions.data(), count, size, block_.data(), team_);
    const double level = extremes.level(problem_.equality);
    const Real never = std::numeric_limits<Real>::infinity();
    std::vector<Real> diagonal(size, Real(1)), gradient(size, Real(0)), growth(size, never),
        fall(size, -never);
    std::vector<double> beta(size, 0.0), lower(size, 0.0), upper(size, 0.0);
    for (Size k = 0; k < count; ++k) {
      const Size p = Size(positions[k]);
      diagonal[k] = Real(diagonal_[p]);
      gradient[k] = Real(g_[p] - level);
      beta[k] = b_[p], lower[k] = lower_[p], upper[k] = upper_[p];
      if (beta[k] < upper[k]) growth[k] = Real(0);
      if (beta[k] > lower[k]) fall[k] = Real(0);
    }
    const double gap = extremes.violation(problem_.equality);
    PairCall<Real> call{size,         block_.data(), diagonal.data(), gradient.data(),
                        growth.data(), fall.data(),  beta.data(),     lower.data(),
                        upper.data(), std::max(kInnerShare * gap, 0.5 * target),
                        std::min<long>(control_.steps_left(outcome_.steps), long(50 * count))};
    const long steps =
        problem_.equality ? routines<Real>().pairs(call) : box_pairs(call, count);
    std::vector<Index> changed;
    std::vector<double> change;
    for (Size k = 0; k < count; ++k) {
      const Size p = Size(positions[k]);
      if (beta[k] == b_[p]) continue;
      changed.push_back(active_[p]);
      change.push_back(beta[k] - b_[p]);
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
  Size remaining_ = 0;        // beyond them stand the samples that screening has taken out
  bool recalled_ = false;     // they have been brought back; no more screening
  std::vector<std::vector<double>> snapshots_;
  std::vector<Index> version_;  // of each sample's gradient: the snapshot it belongs to

  std::vector<Index> active_;  // by position: sample, gradient, beta, box, diagonal
  std::vector<double> g_, b_, lower_, upper_, diagonal_;
  std::vector<Index> working_;
  std::vector<Candidate> growing_, falling_;
  std::vector<Real> block_;
  Outcome outcome_;
};

}  // namespace

template <class Real>
Outcome solve_blocks(const Problem& problem, Gram& gram, const Options& options, double* beta,
                     double* gradient) {
  std::lock_guard<std::mutex> lock(gram.busy());
  return BlockSolver<Real>(problem, gram, options, beta, gradient).run();
}

template Outcome solve_blocks<float>(const Problem&, Gram&, const Options&, double*, double*);
template Outcome solve_blocks<double>(const Problem&, Gram&, const Options&, double*, double*);

}  // namespace widemargin
