#include "solver/active_set.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace widemargin {

namespace {

constexpr Size kFirstStage = 2000;  // samples solved before any other is looked at
constexpr double kStageGrowth = 2.5;
constexpr double kMost = 0.6;          // share of support vectors from which all are taken at once
constexpr double kMargin = 0.1;        // how near a violation a sample stays active
constexpr double kPieceEntries = 4e7;  // evaluated between two looks at the caller's wish
constexpr Size kPieceSamples = Size(1) << 16;  // and so many at a time: on big data arrays count
constexpr Size kProbes = 512;                  // samples that show how far gradients have moved

std::vector<Index> every_so_often(const std::vector<Index>& samples, Size count) {
  std::vector<Index> out;
  for (Size k = 0; k < count; ++k) out.push_back(samples[k * samples.size() / count]);
  return out;
}

}  // namespace

template <class Real>
ActiveSet<Real>::ActiveSet(const Problem& problem, Gram& gram, const SolverOptions& options,
                           const Callbacks& callbacks, Team& team, Iterate& iterate)
    : diagonal(problem.n),
      problem_(problem),
      options_(options),
      callbacks_(callbacks),
      cache_(gram.cache<Real>()),
      source_(gram.source()),
      team_(team),
      gram_(gram),
      evaluated_before_(gram.evaluated()),
      iterate_(iterate),
      beta_(iterate.beta),
      gradient_(iterate.gradient),
      order_(problem.n),
      universe_(problem.n),
      remaining_(problem.n),
      keeps_all_(!options.shrinking),
      version_(problem.n, 0) {
  snapshots_.push_back({std::vector<double>(beta_, beta_ + problem.n), 0.0});
  std::iota(order_.begin(), order_.end(), Index(0));
  source_.diagonal(order_.data(), problem.n, diagonal.data());
  cold_ = std::all_of(beta_, beta_ + problem.n, [](double b) { return b == 0.0; });
  if (!cold_) {
    const Size free_count = Size(std::count_if(order_.begin(), order_.end(), [&](Index i) {
      return beta_[i] > problem.lower[i] && beta_[i] < problem.upper[i];
    }));
    // Where most are support vectors, those set aside would only come back round by round.
    keeps_all_ = keeps_all_ || double(support()) > kMost * double(problem.n) ||
                 (wants_all() && cache_.has_room_for(free_count));
    screen(0);
  } else if (options.shrinking && problem.n > 2 * kFirstStage) {
    std::mt19937_64 generator(options.seed);
    for (Size k = problem.n - 1; k > 0; --k) std::swap(order_[k], order_[generator() % (k + 1)]);
    universe_ = 0;
    extend(kFirstStage);
  }
  level_ = survey().level(problem.equality);
  select();
}

template <class Real>
Extremes ActiveSet<Real>::survey() const {
  Extremes out;
  for (Size k = 0; k < universe_; ++k) {
    const Index i = order_[k];
    if (up_to_date(i)) out.meet(gradient_[i], beta_[i], problem_.lower[i], problem_.upper[i]);
  }
  return out;
}

template <class Real>
Extremes ActiveSet<Real>::survey_active() const {
  Extremes out;
  for (Size p = 0; p < samples.size(); ++p) out.meet(gradients[p], betas[p], lower[p], upper[p]);
  return out;
}

template <class Real>
void ActiveSet<Real>::select() {
  std::vector<Index> wanted;
  for (Size k = 0; k < universe_; ++k) {
    const Index i = order_[k];
    if (!up_to_date(i)) continue;
    const double above = gradient_[i] - level_;
    const bool can_grow = beta_[i] < problem_.upper[i];
    const bool can_fall = beta_[i] > problem_.lower[i];
    if (keeps_all_ || (can_grow && above < kMargin) || (can_fall && above > -kMargin))
      wanted.push_back(i);
  }
  samples = cache_.arrange(wanted, team_);
  const Size count = samples.size();
  gradients.resize(count), betas.resize(count), lower.resize(count), upper.resize(count);
  for (Size p = 0; p < count; ++p) {
    const Size i = Size(samples[p]);
    gradients[p] = gradient_[i], betas[p] = beta_[i];
    lower[p] = problem_.lower[i], upper[p] = problem_.upper[i];
  }
}

template <class Real>
Size ActiveSet<Real>::next_stage() const {
  return most_matter() ? remaining_ : std::min(remaining_, Size(double(universe_) * kStageGrowth));
}

// Where most samples become support vectors, going there in stages only solves the problem twice.
// A stage is left early: who is at zero and about to move counts as well.
template <class Real>
bool ActiveSet<Real>::most_matter() const {
  Size moving = 0, inside = 0;
  for (Size k = 0; k < universe_; ++k) {
    const Index i = order_[k];
    moving += beta_[i] != 0.0;
    inside += beta_[i] > problem_.lower[i] && beta_[i] < problem_.upper[i];
  }
  const double level = survey_active().level(problem_.equality);
  for (Size p = 0; p < samples.size(); ++p)
    moving += betas[p] == 0.0 && ((upper[p] > 0.0 && gradients[p] < level) ||
                                  (lower[p] < 0.0 && gradients[p] > level));
  const double share = double(inside) / double(universe_);
  return double(moving) > kMost * double(universe_) &&
         cache_.has_room_for(Size(share * double(remaining_)));
}

template <class Real>
Size ActiveSet<Real>::support() const {
  return problem_.n - Size(std::count(beta_, beta_ + problem_.n, 0.0));
}

template <class Real>
void ActiveSet<Real>::grow() {
  keeps_all_ = keeps_all_ || (!complete() && most_matter());
  extend(next_stage());
}

// Newcomers are a random choice; in order they are read faster.
template <class Real>
void ActiveSet<Real>::extend(Size universe) {
  std::sort(order_.begin() + std::ptrdiff_t(universe_), order_.begin() + std::ptrdiff_t(universe));
  universe_ = universe;
}

template <class Real>
void ActiveSet<Real>::look_at_all() {
  universe_ = remaining_ = problem_.n;
}

template <class Real>
void ActiveSet<Real>::move(Size position, double beta, double gain) {
  betas[position] = beta;
  beta_[samples[position]] = beta;
  objective_ += gain;
}

template <class Real>
void ActiveSet<Real>::mark_anchors() {
  constexpr Index unnumbered = -3;
  std::vector<Index> number(snapshots_.size(), unnumbered);
  number.back() = kCurrent;
  for (Size i = 0; i < problem_.n; ++i) {
    Index& own = number[Size(version_[i])];
    if (own == unnumbered) {
      own = Index(iterate_.points.size());
      iterate_.points.push_back(std::move(snapshots_[Size(version_[i])].beta));
    }
    iterate_.anchors[i] = own;
  }
  for (Size k = universe_; k < remaining_; ++k) iterate_.anchors[order_[k]] = kUnknown;
}

// Whoever is taken out loses its column in every row at hand, and is evaluated there again when
// brought back. That is worth it once a solve has evaluated those rows twice over, since they did
// not fit in the cache or changed all the time.
template <class Real>
bool ActiveSet<Real>::removal_pays() const {
  const std::uint64_t at_hand = std::uint64_t(cache_.held()) * cache_.columns().size();
  return gram_.evaluated() - evaluated_before_ >= 2 * at_hand;
}

// A solve that begins at the end of another one is short: it is looked at once, before it begins.
template <class Real>
bool ActiveSet<Real>::screens() const {
  return callbacks_.screen && !recalled_ && (cold_ || removal_pays());
}

template <class Real>
bool ActiveSet<Real>::screen(long steps) {
  if (!screens() && !(callbacks_.screen && steps == 0)) return false;
  std::vector<char> keep(remaining_, 1);
  callbacks_.screen(steps, order_.data(), remaining_, keep.data());
  if (!removal_pays() || std::find(keep.begin(), keep.end(), 1) == keep.end()) return false;
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
  return !decided.empty();
}

template <class Real>
bool ActiveSet<Real>::recall() {
  if (remaining_ == problem_.n) return false;
  look_at_all();
  recalled_ = true;
  return true;
}

// Active samples are up to date; the others lack the changes since the snapshot they were last
// computed at. A sample at zero whose gradient is farther from the margin than w has moved since
// then is passed over: it cannot violate. (Not where all gradients are asked for.)
template <class Real>
bool ActiveSet<Real>::refresh(Control& control, const Progress& progress, bool certain) {
  std::vector<char> is_active(problem_.n, 0);
  for (Size p = 0; p < samples.size(); ++p) {
    gradient_[samples[p]] = gradients[p];
    iterate_.errors[samples[p]] = kInfinity;  // float rows leave roundings of every step ever taken
    is_active[Size(samples[p])] = 1;
  }
  const bool may_pass = !wants_all() && source_.semidefinite();
  const Size live = snapshots_.size();
  std::vector<std::vector<Index>> owing(live), passive(live);
  for (Size k = 0; k < universe_; ++k) {
    const Index i = order_[k];
    if (is_active[Size(i)]) continue;
    bool always_zero = beta_[i] == 0.0;
    for (const Snapshot& snapshot : snapshots_)
      always_zero = always_zero && snapshot.beta[Size(i)] == 0.0;
    (may_pass && always_zero ? passive : owing)[Size(version_[Size(i)])].push_back(i);
  }
  for (Size v = 0; v < live; ++v)
    if (!bring_up(snapshots_[v], owing[v], control, progress)) return false;
  const Extremes extremes = survey_active();
  level_ = extremes.level(problem_.equality);
  for (Size v = 0; v < live; ++v) {
    std::vector<Index> near = near_margin(snapshots_[v], passive[v], extremes);
    if (!certain && near.size() > 4 * kProbes) {
      const std::vector<Index> probes = every_so_often(near, kProbes);
      std::vector<double> before;
      for (Index i : probes) before.push_back(slack(i, extremes));
      if (!bring_up(snapshots_[v], probes, control, progress)) return false;
      owing[v].insert(owing[v].end(), probes.begin(), probes.end());
      near = within_reach(near, probes, before, extremes);
    }
    if (!bring_up(snapshots_[v], near, control, progress)) return false;
    owing[v].insert(owing[v].end(), near.begin(), near.end());
  }
  snapshots_.push_back({std::vector<double>(beta_, beta_ + problem_.n), objective_});
  for (Index i : samples) version_[Size(i)] = Index(live);
  for (const auto& group : owing)
    for (Index i : group) version_[Size(i)] = Index(live);
  forget_snapshots();
  return true;
}

// gradient += K (beta - snapshot) for the given samples, piece by piece
template <class Real>
bool ActiveSet<Real>::bring_up(const Snapshot& snapshot, const std::vector<Index>& samples,
                               Control& control, const Progress& progress) {
  if (samples.empty()) return true;
  std::vector<Index> changed;
  std::vector<double> change;
  for (Size i = 0; i < problem_.n; ++i)
    if (beta_[i] != snapshot.beta[i]) {
      changed.push_back(Index(i));
      change.push_back(beta_[i] - snapshot.beta[i]);
    }
  if (changed.empty()) return true;
  const Size piece =
      std::min(kPieceSamples, std::max<Size>(1024, Size(kPieceEntries / double(changed.size()))));
  std::vector<double> sums, sizes, rounding;
  for (Size first = 0; first < samples.size(); first += piece) {
    if (first > 0 && !control.proceed(progress)) return false;
    const Size count = std::min(piece, samples.size() - first);
    sums.assign(count, 0.0), sizes.assign(count, 0.0), rounding.assign(count, 0.0);
    Sweep<Real> work{changed.data(), changed.size(), samples.data() + first, count, nullptr,
                     change.data(),  sums.data()};
    work.sizes = sizes.data();
    source_.sweep(work, team_);
    source_.rounding(work, rounding.data());
    gram_.count(changed.size() * count);
    for (Size k = 0; k < count; ++k) {
      const Index i = samples[first + k];
      gradient_[i] += sums[k];
      iterate_.errors[i] += rounding[k] + 0x1p-52 * std::abs(gradient_[i]);
    }
  }
  return true;
}

template <class Real>
void ActiveSet<Real>::forget_snapshots() {
  std::vector<Index> number(snapshots_.size(), -1);
  number.back() = 0;
  for (Index v : version_) number[Size(v)] = 0;
  std::vector<Snapshot> kept;
  for (Size v = 0; v < snapshots_.size(); ++v)
    if (number[v] == 0) {
      number[v] = Index(kept.size());
      kept.push_back(std::move(snapshots_[v]));
    }
  snapshots_ = std::move(kept);
  for (Index& v : version_) v = number[Size(v)];
}

template class ActiveSet<float>;
template class ActiveSet<double>;

}  // namespace widemargin
