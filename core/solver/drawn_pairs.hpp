// DPWSS: the second member of the pair is drawn by the exponential mechanism.
//
// i = argmax over growing of -gradient, as in WSS1. With m = -gradient_i and M the largest gradient
// over falling members, a falling j scores q_j = (m + gradient_j) / (m + M). Candidates have a
// violation above the tolerance, q_j >= sigma, and, with `once`, were never paired with this i
// before. One is drawn with probability proportional to exp(epsilon q_j / (2 (1 - sigma))). No
// candidate left: "exhausted", which is not optimality. (Sun et al. 2021, Algorithms 1 and 2.)
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <unordered_map>
#include <vector>

#include "solver/pair_solver.hpp"

namespace widemargin {

struct DrawOptions {
  double epsilon = 1.0;         // infinity: the best score is taken, no draw
  double sigma = 0.7;           // in (0, 1]; 1: uniform over the best
  bool once = true;             // every pair at most once in the whole run, as published
  bool robust_maximum = false;  // M over members not yet paired with i
};

class DrawnPair {
 public:
  DrawnPair(const DrawOptions& draw, const SolverOptions& options, Size n)
      : options_(draw), shrinking_(options.shrinking), generator_(options.seed), stamps_(n, 0) {
    restore();
  }

  Choice operator()(const PairState& state, double tolerance) {
    if (shrinking_ && --countdown_ == 0) shrink(state, tolerance);
    Choice choice = choose(state, tolerance);
    if (choice.j < 0 && active_.size() < stamps_.size()) {
      restore();
      choice = choose(state, tolerance);
      if (choice.j >= 0) countdown_ = 1;
    }
    if (choice.j >= 0 && options_.once) partners_[choice.i].push_back(choice.j);
    return choice;
  }

 private:
  struct Ends {
    Index i = -1;
    double grow = -kInfinity;  // m
    double fall = -kInfinity;  // M
  };

  // Calls visit(k) for every member that takes part; without the list when those are all.
  template <class Visit>
  void each_active(const Visit& visit) const {
    if (active_.size() == stamps_.size())
      for (Index k = 0; Size(k) < stamps_.size(); ++k) visit(k);
    else
      for (Index k : active_) visit(k);
  }

  Ends ends(const PairState& state) const {
    Ends found;
    each_active([&](Index k) {
      const double slope = state.gradient[k];
      if (state.can_grow(k) && -slope >= found.grow) {  // ties to the last, as LIBSVM
        found.grow = -slope;
        found.i = k;
      }
      if (state.can_fall(k)) found.fall = std::max(found.fall, slope);
    });
    return found;
  }

  // Marks the members already paired with i, in time proportional to their number: no n x n matrix.
  void mark_partners(Index i) {
    ++stamp_;
    const auto found = partners_.find(i);
    if (found == partners_.end()) return;
    for (Index j : found->second) stamps_[Size(j)] = stamp_;
  }

  Choice choose(const PairState& state, double tolerance) {
    Choice choice;
    const Ends found = ends(state);
    choice.i = found.i;
    choice.violation = found.grow + found.fall;
    if (!(choice.violation >= tolerance)) return choice;
    mark_partners(choice.i);
    double range = choice.violation;
    if (options_.robust_maximum) {
      double fall = -kInfinity;
      each_active([&](Index k) {
        if (state.can_fall(k) && fresh(k)) fall = std::max(fall, state.gradient[k]);
      });
      range = found.grow + fall;
    }
    candidates_.clear();
    scores_.clear();
    const double least = std::max(tolerance, 0.0), admitted = options_.sigma * range;
    each_active([&](Index k) {
      const double violation = found.grow + state.gradient[k];
      if (!(violation > least) || violation < admitted) return;
      if (!state.can_fall(k) || !fresh(k)) return;
      candidates_.push_back(k);
      scores_.push_back(violation / range);
    });
    if (candidates_.empty())
      choice.reason = Status::exhausted;
    else
      choice.j = candidates_[draw()];
    return choice;
  }

  bool fresh(Index k) const { return stamps_[Size(k)] != stamp_; }

  // Logarithm of a candidate's weight relative to a perfect score: in [-epsilon/2, 0].
  double log_weight(Size k) const {
    if (options_.sigma >= 1.0) return 0.0;
    return options_.epsilon * (scores_[k] - 1.0) / (2.0 * (1.0 - options_.sigma));
  }

  // A uniform candidate accepted with its relative weight follows the softmax exactly and needs few
  // exponentials. After some refusals the cumulated weights decide: the same law, now in one pass.
  Size draw() {
    const Size count = candidates_.size();
    if (std::isinf(options_.epsilon))
      return Size(std::max_element(scores_.begin(), scores_.end()) - scores_.begin());
    for (int attempt = 0; attempt < 32; ++attempt) {
      const Size k = std::min(count - 1, Size(uniform() * double(count)));
      if (uniform() < std::exp(log_weight(k))) return k;
    }
    std::vector<double> cumulated(count);
    double total = 0.0;
    for (Size k = 0; k < count; ++k) cumulated[k] = total += std::exp(log_weight(k));
    const double level = uniform() * total;
    const auto place = std::upper_bound(cumulated.begin(), cumulated.end(), level);
    return std::min(count - 1, Size(place - cumulated.begin()));
  }

  double uniform() { return double(generator_() >> 11) * 0x1.0p-53; }

  // LIBSVM's rule: a member at a bound whose gradient keeps it there by more than the worst pair.
  void shrink(const PairState& state, double tolerance) {
    countdown_ = period();
    const Ends found = ends(state);
    if (!unshrunk_ && found.grow + found.fall <= 10.0 * tolerance) {
      unshrunk_ = true;
      restore();
      countdown_ = period();
    }
    const auto settled = [&](Index k) {
      if (!state.can_grow(k)) return -state.gradient[k] > found.grow;
      if (!state.can_fall(k)) return state.gradient[k] > found.fall;
      return false;
    };
    active_.erase(std::remove_if(active_.begin(), active_.end(), settled), active_.end());
  }

  void restore() {
    active_.resize(stamps_.size());
    for (Size k = 0; k < active_.size(); ++k) active_[k] = Index(k);
    countdown_ = period();
  }

  long period() const { return long(std::min<Size>(stamps_.size(), 1000)); }

  DrawOptions options_;
  bool shrinking_;  // bounded members are set aside as in LIBSVM
  std::mt19937_64 generator_;
  std::unordered_map<Index, std::vector<Index>> partners_;
  std::vector<std::uint64_t> stamps_;
  std::uint64_t stamp_ = 0;
  std::vector<Index> active_, candidates_;
  std::vector<double> scores_;
  long countdown_ = 1;
  bool unshrunk_ = false;
};

}  // namespace widemargin
