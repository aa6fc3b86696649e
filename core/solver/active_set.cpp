#include "solver/active_set.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "solver/shrinking.hpp"

namespace widemargin {

namespace {

constexpr Size kFirstStage = 1000;    // samples; a solve of twice as many goes by stages
constexpr double kStageGrowth = 2.5;  // of the universe from stage to stage
constexpr double kMost = 0.6;         // share of support vectors from which all are taken at once
constexpr double kSecondSum = 0.5;    // of the certificate's entries, that a second sum evaluates
constexpr double kKeepCost = 4.0;     // of an entry, from which rows are kept over all samples

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
      asked_before_(gram.log().asked()),
      iterate_(iterate),
      diagonal_(gram.source().whole_diagonal()),
      lazy_(problem, gram, options, !needs_every_gradient(), diagonal_, team, iterate),
      order_(problem.n),
      universe_(problem.n),
      remaining_(problem.n),
      cold_(support() == 0),
      keeps_all_(!options.shrinking) {
  std::iota(order_.begin(), order_.end(), Index(0));
  if (!cold_) {
    const Size free_count = Size(std::count_if(order_.begin(), order_.end(), [&](Index i) {
      return problem.is_free(i, iterate.beta[i]);
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
  recentre(true);
  level_ = extremes().level(problem.equality);
  select(false);
}

template <class Real>
void ActiveSet<Real>::recentre(bool whole) {
  if (problem_.second == nullptr) return;
  SideExtremes sides;
  if (whole) {
    for (Size k = 0; k < universe_; ++k) {
      const Index i = order_[k];
      if (lazy_.is_current(i))
        sides.meet(lazy_[i], iterate_.beta[i], problem_.lower[i], problem_.upper[i]);
    }
  } else {
    for (const Position p : positions()) sides.meet(gradients_[p], betas_[p], lower_[p], upper_[p]);
  }
  problem_.second->multiplier = sides.multiplier();
  kinks_ = ByPosition<double>(size(), problem_.second->multiplier);
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
      out.meet(lazy_[i], iterate_.beta[i], problem_.lower[i], problem_.upper[i],
               problem_.kink_of(i));
  }
  return out;
}

template <class Real>
Extremes ActiveSet<Real>::active_extremes() const {
  Extremes out;
  routines<double>().slope_extremes(slopes(), &out.lowest_up, &out.highest_low);
  return out;
}

template <class Real>
void ActiveSet<Real>::select(bool stuck) {
  const Levels levels(level_, stuck ? extremes().level(problem_.equality) : level_);
  const auto slack = [&](Index i) {
    return slack_of(problem_, i, lazy_[i], iterate_.beta[i], levels);
  };
  std::vector<Index> wanted, near;
  std::vector<double> slacks;  // of those near a violation that are at a bound
  for (Size k = 0; k < universe_; ++k) {
    const Index i = order_[k];
    if (!lazy_.is_current(i)) continue;
    if (!keeps_all_ && !(slack(i) <= kActiveMargin)) continue;
    near.push_back(i);
    if (!problem_.is_free(i, iterate_.beta[i])) slacks.push_back(slack(i));
  }
  // A set that had nothing to do lacked one side of the most violating pair: all are taken.
  const bool all = keeps_all_ || stuck;
  const double margin = all ? kInfinity : active_margin(std::move(slacks), support());
  for (const Index i : near)
    if (slack(i) <= margin || problem_.is_free(i, iterate_.beta[i])) wanted.push_back(i);
  keep_few_leaving(wanted);
  samples_ = cache_.arrange(wanted, team_);
  take_over(Position(0));
}

// Puts those that would leave back where that is not worth it.
template <class Real>
void ActiveSet<Real>::keep_few_leaving(std::vector<Index>& wanted) const {
  std::vector<char> stays(problem_.n, 0), in_universe(problem_.n, 0);
  for (const Index i : wanted) stays[Size(i)] = 1;
  for (Size k = 0; k < universe_; ++k) in_universe[Size(order_[k])] = 1;
  std::vector<Index> leaving;
  for (const Index i : samples_.values()) {
    if (!in_universe[Size(i)]) return;  // screened: rows are compacted whatever the others do
    if (!stays[Size(i)]) leaving.push_back(i);
  }
  if (!shrinking_pays(leaving.size(), size()))
    wanted.insert(wanted.end(), leaving.begin(), leaving.end());
}

// beta, box and gradient of the active samples from the given position on.
template <class Real>
void ActiveSet<Real>::take_over(Position first) {
  gradients_.resize(size()), errors_.resize(size()), betas_.resize(size());
  lower_.resize(size()), upper_.resize(size()), kinks_.resize(size());
  errors_known_ = true;
  for (Size k = Size(first); k < size(); ++k) {
    const Position p{k};
    const Index i = samples_[p];
    gradients_[p] = lazy_[i], errors_[p] = iterate_.errors[i], betas_[p] = iterate_.beta[i];
    lower_[p] = problem_.lower[i], upper_[p] = problem_.upper[i], kinks_[p] = problem_.kink_of(i);
  }
  free_count_ = 0;
  for (const Position p : positions()) free_count_ += is_free(p) ? 1 : 0;
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
    if (is_free(p)) --free_count_;
    betas_[p] = iterate_.beta[samples_[p]] = move.beta;
    if (is_free(p)) ++free_count_;
    lazy_.note_move(samples_[p], move.gain);
    // A member that has reached a bound or its kink mostly stays there: its row is not worth the
    // memory.
    keep.push_back(is_free(p));
  }
  cache_.apply(changed.data(), change.data(), keep.data(), changed.size(), gradients_.data(),
               team_);
  forget_errors();  // rounding of float rows accumulates over all steps: it is no longer bounded
}

template <class Real>
void ActiveSet<Real>::forget_errors() {
  if (errors_known_) errors_ = ByPosition<double>(size(), kInfinity);
  errors_known_ = false;
}

// The certificate needs a bound on the rounding of active samples at zero; what it finds without
// one it sums itself, over all support vectors. No other sample may be without one.
template <class Real>
bool ActiveSet<Real>::second_sum_pays() const {
  const bool others_bounded = lazy_.bounded() || all_active();
  if (!others_bounded || !gram_.source().sizes_by_sign()) return false;
  const std::vector<Index> rows = support_samples();
  const Size at_zero = Size(std::count(betas_.values().begin(), betas_.values().end(), 0.0));
  return double(cache_.incomplete(rows)) * double(size()) <=
         kSecondSum * double(at_zero) * double(rows.size());
}

template <class Real>
void ActiveSet<Real>::bound_rounding() {
  if (!second_sum_pays()) return;
  std::vector<double> sums(size(), 0.0), sizes(size(), 0.0), rounding(size(), 0.0);
  std::vector<Index> rows;
  std::vector<double> weights;
  for (const double sign : {1.0, -1.0}) {
    std::vector<Index> own;
    std::vector<double> own_weights, part(size(), 0.0);
    for (const Index i : support_samples())
      if (sign * iterate_.beta[i] > 0.0) {
        own.push_back(i);
        own_weights.push_back(std::abs(iterate_.beta[i]));
      }
    const std::vector<char> keep(own.size(), 0);
    cache_.apply(own.data(), own_weights.data(), keep.data(), own.size(), part.data(), team_);
    for (Size k = 0; k < size(); ++k) sums[k] += sign * part[k], sizes[k] += part[k];
    rows.insert(rows.end(), own.begin(), own.end());
    weights.insert(weights.end(), own_weights.begin(), own_weights.end());
  }
  Sweep<Real> work{rows.data(), rows.size(), samples_.data(), size(), nullptr, weights.data()};
  work.sizes = sizes.data();
  gram_.source().rounding(work, rounding.data());
  for (const Position p : positions()) {
    const double anew = sums[Size(p)] - problem_.linear[samples_[p]];
    errors_[p] = rounding[Size(p)] + std::abs(gradients_[p] - anew) + 0x1p-51 * std::abs(anew);
  }
  errors_known_ = true;
}

template <class Real>
std::vector<Index> ActiveSet<Real>::support_samples() const {
  std::vector<Index> out;
  for (Size i = 0; i < problem_.n; ++i)
    if (iterate_.beta[i] != 0.0) out.push_back(Index(i));
  return out;
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
    free_count += problem_.is_free(i, iterate_.beta[i]);
  }
  const double level = active_extremes().level(problem_.equality);
  for (const Position p : positions())
    moving += betas_[p] == 0.0 && ((upper_[p] > 0.0 && growth_slope(p) < level) ||
                                   (lower_[p] < 0.0 && fall_slope(p) > level));
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
  const bool whole = all_active();
  keeps_all_ = keeps_all_ || most_are_support() || rows_are_worth_keeping();
  extend(next_stage());
  if (whole && keeps_all_) activate_stage();
}

// Where entries cost much more to evaluate than to read, rows are evaluated once, over all samples,
// and kept.
template <class Real>
bool ActiveSet<Real>::rows_are_worth_keeping() const {
  const double share = double(support()) / double(universe_);
  return (cache_.local() || cache_.entry_cost() >= kKeepCost) &&
         cache_.has_room_for(Size(share * double(remaining_)));
}

// The samples of a new stage become active; the rows of support vectors are extended by them.
template <class Real>
void ActiveSet<Real>::activate_stage() {
  const Size before = size();
  const std::vector<Index> appended(order_.begin() + std::ptrdiff_t(before),
                                    order_.begin() + std::ptrdiff_t(universe_));
  const std::vector<Index> rows = support_samples();
  std::vector<double> weights, sums(universe_, 0.0);
  for (const Index i : rows) weights.push_back(iterate_.beta[i]);
  cache_.extend(appended, rows, weights.data(), sums.data(), team_);
  samples_ = cache_.columns();
  take_over(Position(before));
  for (Size k = before; k < size(); ++k) gradients_[Position(k)] += sums[k];
  forget_errors();
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
  const Progress progress = store_active(steps);
  lazy_.update(samples_.values(), inactive(), active_extremes(), skip, control, progress);
}

template <class Real>
void ActiveSet<Real>::enter_next_stage(Control& control, long steps) {
  const Size before = universe_;
  grow();
  const Progress progress = store_active(steps);
  std::vector<Index> entering;  // that are not active already
  if (size() < universe_)
    entering.assign(order_.begin() + std::ptrdiff_t(before),
                    order_.begin() + std::ptrdiff_t(universe_));
  lazy_.enter(samples_.values(), entering, control, progress);
}

template <class Real>
Progress ActiveSet<Real>::store_active(long steps) {
  for (const Position p : positions()) lazy_.store(samples_[p], gradients_[p], errors_[p]);
  const Extremes active = active_extremes();
  level_ = active.level(problem_.equality);
  return {steps, active.violation(problem_.equality), size()};
}

// A sample that is taken out loses its column in every cached row, and is evaluated there again
// when restored. That is worth it once a solve has evaluated those rows twice over, since they did
// not fit in the cache or changed all the time.
template <class Real>
bool ActiveSet<Real>::removal_pays() const {
  const std::uint64_t cached = std::uint64_t(cache_.held()) * cache_.columns().size();
  return gram_.log().asked() - asked_before_ >= 2 * cached;
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
