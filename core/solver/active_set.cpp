#include "solver/active_set.hpp"

#include <algorithm>
#include <numeric>
#include <random>

namespace widemargin {

namespace {

constexpr Size kFirstStage = 2000;     // samples; a solve of twice as many goes by stages
constexpr double kStageGrowth = 2.5;   // of the universe from stage to stage
constexpr double kMost = 0.6;          // share of support vectors from which all are taken at once
constexpr double kActiveMargin = 0.1;  // how near a violation a sample stays active

}  // namespace

template <class Real>
ActiveSet<Real>::ActiveSet(const Problem& problem, Gram& gram, const SolverOptions& options,
                           const Callbacks& callbacks, Team& team, Iterate& iterate)
    : problem_(problem),
      options_(options),
      callbacks_(callbacks),
      cache_(gram.cache<Real>()),
      team_(team),
      gram_(gram),
      evaluated_before_(gram.evaluated()),
      iterate_(iterate),
      diagonal_(problem.n),
      lazy_(problem, gram, options, !needs_every_gradient(), diagonal_, team, iterate),
      order_(problem.n),
      universe_(problem.n),
      remaining_(problem.n),
      cold_(support() == 0),
      keeps_all_(!options.shrinking) {
  std::iota(order_.begin(), order_.end(), Index(0));
  gram.source().diagonal(order_.data(), problem.n, diagonal_.data());
  if (!cold_) {
    const Size free_count = Size(std::count_if(order_.begin(), order_.end(), [&](Index i) {
      return iterate.beta[i] > problem.lower[i] && iterate.beta[i] < problem.upper[i];
    }));
    // Where most are support vectors, shrunk samples would only come back round by round.
    keeps_all_ = keeps_all_ || double(support()) > kMost * double(problem.n) ||
                 (needs_every_gradient() && cache_.has_room_for(free_count));
    screen(0);
  } else if (options.shrinking && problem.n > 2 * kFirstStage) {
    shuffle();
    universe_ = 0;
    extend(kFirstStage);
  }
  level_ = extremes().level(problem.equality);
  select();
}

// Fisher-Yates: a stage is a random choice of the samples.
template <class Real>
void ActiveSet<Real>::shuffle() {
  std::mt19937_64 generator(options_.seed);
  for (Size k = problem_.n - 1; k > 0; --k) std::swap(order_[k], order_[generator() % (k + 1)]);
}

// In increasing order samples are read faster.
template <class Real>
void ActiveSet<Real>::extend(Size universe) {
  std::sort(order_.begin() + std::ptrdiff_t(universe_), order_.begin() + std::ptrdiff_t(universe));
  universe_ = universe;
}

template <class Real>
Extremes ActiveSet<Real>::extremes() const {
  Extremes out;
  for (Size k = 0; k < universe_; ++k) {
    const Index i = order_[k];
    if (lazy_.is_current(i))
      out.meet(lazy_[i], iterate_.beta[i], problem_.lower[i], problem_.upper[i]);
  }
  return out;
}

template <class Real>
Extremes ActiveSet<Real>::active_extremes() const {
  Extremes out;
  for (const Position p : positions()) out.meet(gradients_[p], betas_[p], lower_[p], upper_[p]);
  return out;
}

template <class Real>
void ActiveSet<Real>::select() {
  std::vector<Index> wanted;
  for (Size k = 0; k < universe_; ++k) {
    const Index i = order_[k];
    if (!lazy_.is_current(i)) continue;
    const double above = lazy_[i] - level_;
    const bool can_grow = iterate_.beta[i] < problem_.upper[i];
    const bool can_fall = iterate_.beta[i] > problem_.lower[i];
    if (keeps_all_ || (can_grow && above < kActiveMargin) || (can_fall && above > -kActiveMargin))
      wanted.push_back(i);
  }
  samples_ = cache_.arrange(wanted, team_);
  gradients_.resize(size()), betas_.resize(size()), lower_.resize(size()), upper_.resize(size());
  for (const Position p : positions()) {
    const Index i = samples_[p];
    gradients_[p] = lazy_[i], betas_[p] = iterate_.beta[i];
    lower_[p] = problem_.lower[i], upper_[p] = problem_.upper[i];
  }
}

template <class Real>
void ActiveSet<Real>::apply(const std::vector<Move>& moves) {
  std::vector<Index> changed;
  std::vector<double> change;
  std::vector<char> keep;
  for (const Move& move : moves) {
    const Position p = move.position;
    changed.push_back(samples_[p]);
    change.push_back(move.beta - betas_[p]);
    betas_[p] = iterate_.beta[samples_[p]] = move.beta;
    lazy_.note_gain(move.gain);
    // A member that has reached a bound mostly stays there: its row is not worth the memory.
    keep.push_back(is_free(p));
  }
  cache_.apply(changed.data(), change.data(), keep.data(), changed.size(), gradients_.data(),
               team_);
}

template <class Real>
Size ActiveSet<Real>::next_stage() const {
  if (most_are_support()) return remaining_;
  return std::min(remaining_, Size(double(universe_) * kStageGrowth));
}

// Where most samples become support vectors, going there in stages only solves the problem twice.
// A stage is left early, so samples at zero that are about to move count as well.
template <class Real>
bool ActiveSet<Real>::most_are_support() const {
  Size moving = 0, free_count = 0;
  for (Size k = 0; k < universe_; ++k) {
    const Index i = order_[k];
    moving += iterate_.beta[i] != 0.0;
    free_count += iterate_.beta[i] > problem_.lower[i] && iterate_.beta[i] < problem_.upper[i];
  }
  const double level = active_extremes().level(problem_.equality);
  for (const Position p : positions())
    moving += betas_[p] == 0.0 && ((upper_[p] > 0.0 && gradients_[p] < level) ||
                                   (lower_[p] < 0.0 && gradients_[p] > level));
  const double share = double(free_count) / double(universe_);
  return double(moving) > kMost * double(universe_) &&
         cache_.has_room_for(Size(share * double(remaining_)));
}

template <class Real>
Size ActiveSet<Real>::support() const {
  return problem_.n - Size(std::count(iterate_.beta, iterate_.beta + problem_.n, 0.0));
}

template <class Real>
void ActiveSet<Real>::grow() {
  keeps_all_ = keeps_all_ || (!complete() && most_are_support());
  extend(next_stage());
}

template <class Real>
void ActiveSet<Real>::include_all() {
  universe_ = remaining_ = problem_.n;
}

template <class Real>
std::vector<Index> ActiveSet<Real>::inactive() const {
  std::vector<char> is_active(problem_.n, 0);
  for (const Index i : samples_.values()) is_active[Size(i)] = 1;
  std::vector<Index> out;
  for (Size k = 0; k < universe_; ++k)
    if (!is_active[Size(order_[k])]) out.push_back(order_[k]);
  return out;
}

template <class Real>
void ActiveSet<Real>::update_gradients(Control& control, long steps, Skip skip) {
  for (const Position p : positions()) lazy_.store(samples_[p], gradients_[p]);
  const Extremes active = active_extremes();
  level_ = active.level(problem_.equality);
  const Progress progress{steps, active.violation(problem_.equality), size()};
  lazy_.update(samples_.values(), inactive(), active, skip, control, progress);
}

// A sample that is taken out loses its column in every cached row, and is evaluated there again
// when restored. That is worth it once a solve has evaluated those rows twice over, since they did
// not fit in the cache or changed all the time.
template <class Real>
bool ActiveSet<Real>::removal_pays() const {
  const std::uint64_t cached = std::uint64_t(cache_.held()) * cache_.columns().size();
  return gram_.evaluated() - evaluated_before_ >= 2 * cached;
}

// A warm start is short: it is screened once, before it begins.
template <class Real>
bool ActiveSet<Real>::screens() const {
  return callbacks_.screen && !restored_ && (cold_ || removal_pays());
}

template <class Real>
bool ActiveSet<Real>::screen(long steps) {
  if (!screens() && !(callbacks_.screen && steps == 0)) return false;
  std::vector<char> keep(remaining_, 1);
  callbacks_.screen(steps, order_.data(), remaining_, keep.data());
  if (!removal_pays() || std::find(keep.begin(), keep.end(), 1) == keep.end()) return false;
  std::vector<Index> removed;
  Size kept = 0;
  for (Size k = 0; k < remaining_; ++k) {
    if (keep[k])
      order_[kept++] = order_[k];
    else
      removed.push_back(order_[k]);
  }
  std::copy(removed.begin(), removed.end(), order_.begin() + std::ptrdiff_t(kept));
  universe_ = remaining_ = kept;
  return !removed.empty();
}

template <class Real>
void ActiveSet<Real>::restore_screened() {
  include_all();
  restored_ = true;
}

template <class Real>
void ActiveSet<Real>::mark_anchors() {
  lazy_.mark_anchors();
  for (Size k = universe_; k < remaining_; ++k) iterate_.anchors[order_[k]] = kUnknown;
}

template class ActiveSet<float>;
template class ActiveSet<double>;

}  // namespace widemargin
