#include "solver/lazy_gradients.hpp"

#include <algorithm>
#include <cmath>

namespace widemargin {

namespace {

constexpr double kPieceEntries = 4e7;          // evaluated between two calls of the monitor
constexpr Size kPieceSamples = Size(1) << 16;  // and the most samples: their arrays take memory
constexpr Size kLeastPiece = 1024;             // samples, so that a sweep is worth its overhead
constexpr Size kProbes = 512;                  // samples that show how far gradients have moved
constexpr Size kProbesPay = 4 * kProbes;       // fewer samples are updated without probing
// Share of the farthest probe's movement that others are expected to stay within. What it misses is
// found before a solution is accepted; a larger share finds mostly samples that do not violate.
constexpr double kProbeReach = 0.7;
// moved_since() is a difference of sums over float rows: what they may have lost, per unit and at
// least.
constexpr double kRelativeLoss = 1e-5, kAbsoluteLoss = 1e-9;

std::vector<Index> evenly_spaced(const std::vector<Index>& samples, Size count) {
  std::vector<Index> out;
  for (Size k = 0; k < count; ++k) out.push_back(samples[k * samples.size() / count]);
  return out;
}

void append(std::vector<Index>& to, const std::vector<Index>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

template <class Real>
LazyGradients<Real>::LazyGradients(const Problem& problem, Gram& gram, const SolverOptions& options,
                                   bool skips, const std::vector<double>& diagonal, Team& team,
                                   Iterate& iterate)
    : problem_(problem),
      gram_(gram),
      source_(gram.source()),
      tolerance_(options.tolerance),
      skips_(skips && gram.source().semidefinite()),
      norms_(diagonal),
      team_(team),
      iterate_(iterate),
      bounded_(std::all_of(iterate.errors, iterate.errors + problem.n,
                           [](double error) { return error < kInfinity; })),
      versions_(problem.n, 0),
      has_moved_(problem.n, 0) {
  for (double& norm : norms_) norm = std::sqrt(std::max(norm, 0.0));
  snapshots_.push_back({std::vector<double>(iterate.beta, iterate.beta + problem.n), 0.0});
}

template <class Real>
void LazyGradients<Real>::store(Index i, double gradient, double error) {
  iterate_.gradient[i] = gradient;
  iterate_.errors[i] = error;
}

template <class Real>
void LazyGradients<Real>::note_move(Index i, double gain) {
  objective_ += gain;
  if (has_moved_[Size(i)]) return;
  has_moved_[Size(i)] = 1;
  moved_.push_back(i);
}

template <class Real>
void LazyGradients<Real>::update(const std::vector<Index>& active,
                                 const std::vector<Index>& inactive, const Extremes& extremes,
                                 Skip skip, Control& control, const Progress& progress) {
  const Purpose purpose = skip == Skip::proven ? Purpose::last_check : Purpose::inactive;
  const Size live = snapshots_.size();
  std::sort(moved_.begin(), moved_.end());
  std::vector<Change> changes;
  std::vector<char> unchanged(problem_.n,
                              skips_);  // since the oldest snapshot, where any may be skipped
  for (const Snapshot& snapshot : snapshots_) {
    changes.push_back(change_since(snapshot));
    for (const Index i : changes.back().samples) unchanged[Size(i)] = 0;
  }
  Groups updated(live), skippable(live);
  for (const Index i : inactive) {
    const bool skips = unchanged[Size(i)] && iterate_.beta[i] == 0.0;
    (skips ? skippable : updated)[Size(versions_[Size(i)])].push_back(i);
  }
  // First those that may have changed: moved_since() needs their gradients.
  for (Size v = 0; v < live; ++v) add(changes[v], updated[v], purpose, control, progress);
  for (Size v = 0; v < live; ++v) {
    std::vector<Index> near = possible_violators(snapshots_[v], changes[v], skippable[v], extremes);
    if (skip == Skip::probable && near.size() > kProbesPay)
      near = probable_violators(changes[v], near, extremes, control, progress, updated[v]);
    append(updated[v], near);
    if (skip == Skip::proven && bounded_) sum_unbounded_anew(near, control, progress);
    add(changes[v], near, purpose, control, progress);
  }
  take_snapshot(active, updated);
}

template <class Real>
void LazyGradients<Real>::enter(const std::vector<Index>& active,
                                const std::vector<Index>& entering, Control& control,
                                const Progress& progress) {
  std::sort(moved_.begin(), moved_.end());
  add(change_since(snapshots_.front()), entering, Purpose::stages, control, progress);
  take_snapshot(active, {entering});
}

template <class Real>
typename LazyGradients<Real>::Change LazyGradients<Real>::change_since(
    const Snapshot& snapshot) const {
  Change out;
  for (const Index i : moved_)
    if (iterate_.beta[i] != snapshot.beta[Size(i)]) {
      out.samples.push_back(i);
      out.amounts.push_back(iterate_.beta[i] - snapshot.beta[Size(i)]);
    }
  return out;
}

// gradient += K (change of beta) for the given samples, piece by piece
template <class Real>
void LazyGradients<Real>::add(const Change& change, const std::vector<Index>& samples,
                              Purpose purpose, Control& control, const Progress& progress) {
  const std::vector<Index>& changed = change.samples;
  if (samples.empty() || changed.empty()) return;
  const Size piece =
      std::min(kPieceSamples, std::max(kLeastPiece, Size(kPieceEntries / double(changed.size()))));
  std::vector<double> sums, sizes, rounding;
  for (Size first = 0; first < samples.size(); first += piece) {
    if (first > 0) control.report(progress);
    const Size count = std::min(piece, samples.size() - first);
    sums.assign(count, 0.0), sizes.assign(count, 0.0), rounding.assign(count, 0.0);
    Sweep<Real> work{changed.data(),        changed.size(), samples.data() + first, count, nullptr,
                     change.amounts.data(), sums.data()};
    work.sizes = sizes.data();
    const WorkLog::Timer timer(gram_.log(), Activity::entries);
    const Size evaluated = source_.sweep(work, team_);
    source_.rounding(work, rounding.data());
    gram_.log().count(purpose, changed.size() * count, evaluated);
    for (Size k = 0; k < count; ++k) {
      const Index i = samples[first + k];
      iterate_.gradient[i] += sums[k];
      iterate_.errors[i] += rounding[k] + 0x1p-52 * std::abs(iterate_.gradient[i]);
    }
  }
}

// Samples that were active have gradients of unknown rounding, which is of no use to a certificate:
// they leave the given ones, and their gradients become sums over all support vectors.
template <class Real>
void LazyGradients<Real>::sum_unbounded_anew(std::vector<Index>& samples, Control& control,
                                             const Progress& progress) {
  const auto first = std::stable_partition(samples.begin(), samples.end(),
                                           [&](Index i) { return iterate_.errors[i] < kInfinity; });
  const std::vector<Index> unbounded(first, samples.end());
  samples.erase(first, samples.end());
  for (const Index i : unbounded) {
    iterate_.gradient[i] = -problem_.linear[i];
    iterate_.errors[i] = 0.0;
  }
  const Snapshot origin{std::vector<double>(problem_.n, 0.0), 0.0};
  if (!unbounded.empty())
    add(change_since(origin), unbounded, Purpose::last_check, control, progress);
}

template <class Real>
typename LazyGradients<Real>::Thresholds LazyGradients<Real>::thresholds(
    const Extremes& extremes) const {
  const double none = problem_.equality ? kInfinity : 0.0;
  return {std::min(extremes.lowest_up, none) - tolerance_,
          std::max(extremes.highest_low, -none) + tolerance_};
}

// How far a sample at zero is from violating.
template <class Real>
inline double LazyGradients<Real>::slack(Index i, const Thresholds& beyond) const {
  const double gradient = iterate_.gradient[i], kink = problem_.kink_of(i);
  const double growing = problem_.upper[i] > 0.0 ? gradient + kink - beyond.high : kInfinity;
  const double falling = problem_.lower[i] < 0.0 ? beyond.low - (gradient - kink) : kInfinity;
  return std::min(growing, falling);
}

// Upper bound on ||w - w_snapshot||. The dual is quadratic, so with the gradient now,
// 1/2 ||w - w_then||^2 = D_then - D_now + gradient' (beta_now - beta_then); the gradient of every
// changed sample is up to date when this is called. What a kink adds to D is taken out term by
// term: the slopes of free samples then stay near the level, and their sum is small.
template <class Real>
double LazyGradients<Real>::moved_since(const Snapshot& snapshot, const Change& change,
                                        double level) const {
  double half_square = snapshot.objective - objective_, size = std::abs(half_square);
  for (Size k = 0; k < change.samples.size(); ++k) {
    const Index i = change.samples[k];
    const double kink = problem_.kink_of(i), then = snapshot.beta[Size(i)];
    const double side = side_of(iterate_.beta[i], then);
    const double slope = iterate_.gradient[i] + side * kink - level;
    const double term = slope * change.amounts[k] - crossing(then, side, kink);
    half_square += term;
    size += std::abs(term);
  }
  const double rounding = kRelativeLoss * size + kAbsoluteLoss;
  return std::sqrt(2.0 * std::max(half_square, 0.0) + 2.0 * rounding);
}

// Those of the samples, all at zero, that may violate by now.
template <class Real>
std::vector<Index> LazyGradients<Real>::possible_violators(const Snapshot& snapshot,
                                                           const Change& change,
                                                           const std::vector<Index>& samples,
                                                           const Extremes& extremes) const {
  std::vector<Index> near;
  if (samples.empty()) return near;
  const double radius = moved_since(snapshot, change, extremes.level(problem_.equality));
  const Thresholds beyond = thresholds(extremes);
  for (const Index i : samples)
    if (slack(i, beyond) <= radius * norms_[Size(i)]) near.push_back(i);
  return near;
}

// Those of the samples that may violate, judged by how far some of them, updated here, have moved.
template <class Real>
std::vector<Index> LazyGradients<Real>::probable_violators(
    const Change& change, const std::vector<Index>& samples, const Extremes& extremes,
    Control& control, const Progress& progress, std::vector<Index>& updated) {
  const std::vector<Index> probes = evenly_spaced(samples, kProbes);
  const Thresholds beyond = thresholds(extremes);
  std::vector<double> before;
  for (const Index i : probes) before.push_back(slack(i, beyond));
  add(change, probes, Purpose::inactive, control, progress);
  append(updated, probes);
  double farthest = -kInfinity;
  std::vector<char> probed(problem_.n, 0);
  for (Size k = 0; k < probes.size(); ++k) {
    farthest = std::max(farthest, before[k] - slack(probes[k], beyond));
    probed[Size(probes[k])] = 1;
  }
  std::vector<Index> near;
  for (const Index i : samples)
    if (!probed[Size(i)] && slack(i, beyond) <= kProbeReach * farthest) near.push_back(i);
  return near;
}

template <class Real>
void LazyGradients<Real>::take_snapshot(const std::vector<Index>& active, const Groups& updated) {
  snapshots_.push_back(
      {std::vector<double>(iterate_.beta, iterate_.beta + problem_.n), objective_});
  for (const Index i : active) versions_[Size(i)] = latest();
  for (const auto& group : updated)
    for (const Index i : group) versions_[Size(i)] = latest();
  drop_unused_snapshots();
}

template <class Real>
void LazyGradients<Real>::drop_unused_snapshots() {
  std::vector<char> used(snapshots_.size(), 0);
  used.back() = 1;
  for (const Index v : versions_) used[Size(v)] = 1;
  std::vector<Snapshot> kept;
  std::vector<Index> number(snapshots_.size());
  for (Size v = 0; v < snapshots_.size(); ++v) {
    if (!used[v]) continue;
    number[v] = Index(kept.size());
    kept.push_back(std::move(snapshots_[v]));
  }
  snapshots_ = std::move(kept);
  for (Index& v : versions_) v = number[Size(v)];
}

template <class Real>
void LazyGradients<Real>::mark_anchors() {
  std::vector<Index> anchors(snapshots_.size(), kUnknown);  // unknown until it is numbered
  anchors.back() = kCurrent;
  for (Size i = 0; i < problem_.n; ++i) {
    Index& anchor = anchors[Size(versions_[i])];
    if (anchor == kUnknown) {
      anchor = Index(iterate_.points.size());
      iterate_.points.push_back(std::move(snapshots_[Size(versions_[i])].beta));
    }
    iterate_.anchors[i] = anchor;
  }
}

template class LazyGradients<float>;
template class LazyGradients<double>;

}  // namespace widemargin
