// Which of the samples at zero cannot have come to violate since they were last brought up to date:
// by how far w has moved, for certain, or by how far a few of them have moved.
#include <algorithm>
#include <cmath>

#include "solver/active_set.hpp"

namespace widemargin {

namespace {

constexpr double kReach = 1.5;  // others may have moved this much farther than any of them

}  // namespace

// How far a sample at zero is from violating.
template <class Real>
double ActiveSet<Real>::slack(Index sample, const Extremes& extremes) const {
  const double none = problem_.equality ? kInfinity : 0.0;
  const double high = std::max(extremes.highest_falling, -none) + options_.tolerance;
  const double low = std::min(extremes.lowest_growing, none) - options_.tolerance;
  const double growing = problem_.lower[sample] == 0.0 ? gradient_[sample] - high : -kInfinity;
  const double falling = problem_.upper[sample] == 0.0 ? low - gradient_[sample] : -kInfinity;
  return std::max(growing, falling);
}

// Those of the samples, all at zero, that might violate by now.
template <class Real>
std::vector<Index> ActiveSet<Real>::near_margin(const Snapshot& snapshot,
                                                const std::vector<Index>& samples,
                                                const Extremes& extremes) const {
  std::vector<Index> near;
  if (samples.empty()) return near;
  const double radius = moved_since(snapshot);
  for (Index i : samples) {
    const double reach = radius * std::sqrt(std::max(diagonal[Size(i)], 0.0));
    if (slack(i, extremes) <= reach) near.push_back(i);
  }
  return near;
}

// Those of the samples that may violate, judged by how far the probes have moved.
template <class Real>
std::vector<Index> ActiveSet<Real>::within_reach(const std::vector<Index>& samples,
                                                 const std::vector<Index>& probes,
                                                 const std::vector<double>& slacks,
                                                 const Extremes& extremes) const {
  std::vector<double> moves;
  std::vector<char> done(problem_.n, 0);
  for (Size k = 0; k < probes.size(); ++k) {
    moves.push_back(slacks[k] - slack(probes[k], extremes));
    done[Size(probes[k])] = 1;
  }
  const double reach = kReach * *std::max_element(moves.begin(), moves.end());
  std::vector<Index> near;
  for (Index i : samples)
    if (!done[Size(i)] && slack(i, extremes) <= reach) near.push_back(i);
  return near;
}

// Upper bound on ||w - w_snapshot||. The dual is quadratic, so with the gradient now,
// 1/2 ||w - w_then||^2 = D_then - D_now + gradient' (beta_now - beta_then); every changed
// sample's gradient is up to date when this is called.
template <class Real>
double ActiveSet<Real>::moved_since(const Snapshot& snapshot) const {
  double half_square = snapshot.objective - objective_, size = std::abs(half_square);
  for (Size i = 0; i < problem_.n; ++i) {
    const double change = beta_[i] - snapshot.beta[i];
    if (change == 0.0) continue;
    const double term = (gradient_[i] - level_) * change;
    half_square += term;
    size += std::abs(term);
  }
  const double rounding = 1e-5 * size + 1e-9;
  return std::sqrt(2.0 * std::max(half_square, 0.0) + 2.0 * rounding);
}

template double ActiveSet<float>::slack(Index, const Extremes&) const;
template double ActiveSet<double>::slack(Index, const Extremes&) const;
template std::vector<Index> ActiveSet<float>::near_margin(const Snapshot&,
                                                          const std::vector<Index>&,
                                                          const Extremes&) const;
template std::vector<Index> ActiveSet<double>::near_margin(const Snapshot&,
                                                           const std::vector<Index>&,
                                                           const Extremes&) const;
template std::vector<Index> ActiveSet<float>::within_reach(const std::vector<Index>&,
                                                           const std::vector<Index>&,
                                                           const std::vector<double>&,
                                                           const Extremes&) const;
template std::vector<Index> ActiveSet<double>::within_reach(const std::vector<Index>&,
                                                            const std::vector<Index>&,
                                                            const std::vector<double>&,
                                                            const Extremes&) const;

}  // namespace widemargin
