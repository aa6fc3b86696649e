#include "solver/margin_polish.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>

#include "numerics/pivoted_cholesky.hpp"

namespace widemargin {

namespace {

constexpr int kMostRounds = 60;
constexpr double kExact = 1e-10;         // violation at which a solution counts as exact
constexpr double kNearlyExact = 100.0;   // times that: where rounding may leave it
constexpr double kIndependence = 1e-11;  // pivots below this share of the largest are dependent
constexpr double kTogether = 1e-12;      // of a step: members that reach their bounds as one

class MarginPolish {
 public:
  MarginPolish(TablePoint& point, NearMargin& near, const std::function<bool()>& proceed)
      : point_(point),
        problem_(point.problem()),
        near_(near),
        proceed_(proceed),
        beta_(point.betas(), point.betas() + point.problem().n) {
    for (const Size k : near.members()) scale_ = std::max(scale_, std::abs(problem_.linear[k]));
    if (scale_ == 0.0 && problem_.margins == nullptr) scale_ = 1.0;
    for (Size k = 0; k < problem_.n; ++k) (beta_[k] > 0.0 ? halves_[0] : halves_[1]) += beta_[k];
    const std::vector<Size> support = point.support();
    std::vector<double> weights(support.size());
    for (Size a = 0; a < support.size(); ++a) weights[a] = beta_[support[a]];
    near_.evaluate(support);
    gradient_.assign(near.size(), 0.0);
    near_.add(support, weights, gradient_);
    for (Size c = 0; c < near.size(); ++c) gradient_[c] -= problem_.linear[near.members()[c]];
  }

  bool run(Size limit) {
    recentre();
    double best = violation(), best_multiplier = problem_.multiplier();
    std::vector<double> best_beta = beta_;
    std::vector<Size> margin = free_members();
    for (int round = 0; round < kMostRounds && margin.size() <= limit && proceed_(); ++round) {
      step(margin);
      recentre();
      const double left = violation();
      if (left < best) best = left, best_beta = beta_, best_multiplier = problem_.multiplier();
      if (left <= kExact * scale_) break;
      const std::vector<Size> entering = entrants();
      if (entering.empty()) break;
      margin = free_members();
      margin.insert(margin.end(), entering.begin(), entering.end());
      std::sort(margin.begin(), margin.end());
    }
    std::copy(best_beta.begin(), best_beta.end(), point_.betas());
    problem_.set_multiplier(best_multiplier);
    return best <= kNearlyExact * kExact * scale_;
  }

 private:
  // Where a member moves: between the ends of its side of zero, if it stops there.
  struct Segment {
    double side, lower, upper;
  };

  Segment segment(Size k) const {
    const double lower = problem_.lower[k], upper = problem_.upper[k];
    if (problem_.margins != nullptr) return {problem_.side(k), lower, upper};
    if (!problem_.stops_at_zero(Index(k))) return {0.0, lower, upper};
    const bool rises = beta_[k] > 0.0 || (beta_[k] == 0.0 && falling_.count(k) == 0);
    return rises ? Segment{1.0, std::max(lower, 0.0), upper}
                 : Segment{-1.0, lower, std::min(upper, 0.0)};
  }

  double slope(Size c, double side) const {
    return gradient_[c] + side * problem_.kink_of(Index(near_.members()[c]));
  }

  // With a second sum: moves its multiplier to where the levels of both sides meet.
  void recentre() {
    if (!problem_.two_sums()) return;
    SideExtremes sides;
    for (Size c = 0; c < near_.size(); ++c) {
      const Size k = near_.members()[c];
      sides.meet(gradient_[c], beta_[k], problem_.lower[k], problem_.upper[k]);
    }
    const double before = problem_.multiplier(), now = problem_.meeting(sides);
    problem_.set_multiplier(now);
    if (problem_.margins == nullptr) return;
    for (Size c = 0; c < near_.size(); ++c)
      gradient_[c] -= (now - before) * problem_.side(near_.members()[c]);
  }

  bool is_free(Size k) const { return problem_.is_free(Index(k), beta_[k]); }

  std::vector<Size> free_members() const {
    std::vector<Size> out;
    out.reserve(near_.size());
    for (const Size k : near_.members())
      if (is_free(k)) out.push_back(k);
    return out;
  }

  double violation() const {
    Extremes extremes;
    for (Size c = 0; c < near_.size(); ++c) {
      const Size k = near_.members()[c];
      extremes.meet(gradient_[c], beta_[k], problem_.lower[k], problem_.upper[k],
                    problem_.kink_of(Index(k)));
    }
    return extremes.violation(problem_.equality);
  }

  // Solves the margin system; members that reach a bound are pinned. The gradient follows.
  void step(const std::vector<Size>& margin) {
    near_.evaluate(margin);
    const std::vector<double> before = beta_;
    solve_margin(margin);
    if (problem_.two_sums()) {
      restore_sum(halves_[0], 1.0);
      restore_sum(halves_[1], -1.0);
    } else if (problem_.equality) {
      restore_sum(problem_.total, 0.0);
    }
    std::vector<Size> changed;
    std::vector<double> changes;
    changed.reserve(near_.size()), changes.reserve(near_.size());
    for (const Size k : near_.members())
      if (beta_[k] != before[k]) {
        changed.push_back(k);
        changes.push_back(beta_[k] - before[k]);
      }
    near_.evaluate(changed);
    near_.add(changed, changes, gradient_);
  }

  void solve_margin(const std::vector<Size>& margin) {
    const Size order = margin.size();
    std::vector<double> block(order * order), gradient(order);
    std::vector<Segment> segments(order);
    for (Size a = 0; a < order; ++a) {
      const double* row = near_.row(margin[a]);
      for (Size b = 0; b < order; ++b) block[a * order + b] = row[near_.place(margin[b])];
      segments[a] = segment(margin[a]);
      gradient[a] = slope(near_.place(margin[a]), segments[a].side);
    }
    std::vector<Index> free(order);
    std::iota(free.begin(), free.end(), Index(0));
    Team alone(1);
    while (!free.empty() && proceed_()) {
      std::vector<double> own(free.size()), step(free.size());
      for (Size f = 0; f < free.size(); ++f) own[f] = gradient[Size(free[f])];
      std::vector<Index> group(problem_.equality ? free.size() : 0);
      if (problem_.two_sums())
        for (Size f = 0; f < free.size(); ++f)
          group[f] = segments[Size(free[f])].side < 0.0 ? 1 : 0;
      newton_step(block.data(), order, free, own.data(), group, kIndependence, step.data(), alone);
      const std::vector<char> stopped = take(margin, segments, free, step);
      if (stopped.empty()) return;
      std::vector<Index> left;
      for (Size f = 0; f < free.size(); ++f) {
        const double* row = block.data() + Size(free[f]) * order;
        for (Size b = 0; b < order; ++b) gradient[b] += step[f] * row[b];
        if (!stopped[f]) left.push_back(free[f]);
      }
      free.swap(left);
    }
  }

  // Takes the longest feasible share of a step, which becomes that share; returns which members
  // limit it, nothing where it was taken whole.
  std::vector<char> take(const std::vector<Size>& margin, const std::vector<Segment>& segments,
                         const std::vector<Index>& free, std::vector<double>& step) {
    const auto end_of = [&](Size f) {
      const Segment& own = segments[Size(free[f])];
      return step[f] > 0.0 ? own.upper : own.lower;
    };
    std::vector<double> room(free.size(), kInfinity);
    double share = 1.0;
    for (Size f = 0; f < free.size(); ++f) {
      const Size k = margin[Size(free[f])];
      if (step[f] == 0.0) continue;
      room[f] = (end_of(f) - beta_[k]) / step[f];
      share = std::min(share, room[f]);
    }
    std::vector<char> stopped;
    if (share < 1.0) stopped.assign(free.size(), 0);
    for (Size f = 0; f < free.size(); ++f) {
      const Size k = margin[Size(free[f])];
      const double end = end_of(f);
      const Segment& own = segments[Size(free[f])];
      step[f] *= share;
      beta_[k] = std::min(std::max(beta_[k] + step[f], own.lower), own.upper);
      if (share < 1.0 && room[f] <= share * (1.0 + kTogether)) stopped[f] = 1, beta_[k] = end;
    }
    return stopped;
  }

  // Pushes the rounding residue of the sum into the member with most room; of one side, or with
  // side 0 of all.
  void restore_sum(double total, double side) {
    double sum = 0.0, most = -kInfinity;
    Size widest = 0;
    for (Size k = 0; k < problem_.n; ++k) {
      const Segment own = segment(k);
      if (side != 0.0 && side != own.side) continue;
      sum += beta_[k];
      const double room = std::min(own.upper - beta_[k], beta_[k] - own.lower);
      if (near_.contains(k) && room > most) most = room, widest = k;
    }
    const double residue = total - sum;
    if (most > std::abs(residue)) beta_[widest] += residue;
  }

  // Members at a bound, or at a kink, that violate optimality: the worst first. Few at a time:
  // joining all at once would make the next margin set far too large.
  std::vector<Size> entrants() {
    std::vector<double> inside;
    Extremes extremes;
    for (Size c = 0; c < near_.size(); ++c) {
      const Size k = near_.members()[c];
      const double kink = problem_.kink_of(Index(k));
      if (is_free(k)) inside.push_back(gradient_[c] + growth_offset(beta_[k], kink));
      extremes.meet(gradient_[c], beta_[k], problem_.lower[k], problem_.upper[k], kink);
    }
    const Size most = std::max<Size>(8, inside.size() / 4);
    double level = extremes.level(problem_.equality);
    if (problem_.equality && !inside.empty()) {
      const auto middle = inside.begin() + std::ptrdiff_t(inside.size() / 2);
      std::nth_element(inside.begin(), middle, inside.end());
      level = *middle;
    }
    std::vector<std::pair<double, Size>> wanting;
    for (Size c = 0; c < near_.size(); ++c) {
      const Size k = near_.members()[c];
      if (is_free(k)) continue;
      const double kink = problem_.kink_of(Index(k));
      const double rises = level - gradient_[c] - growth_offset(beta_[k], kink);
      const double falls = gradient_[c] + fall_offset(beta_[k], kink) - level;
      const double pull = std::max(beta_[k] < problem_.upper[k] ? rises : 0.0,
                                   beta_[k] > problem_.lower[k] ? falls : 0.0);
      if (pull > kExact * scale_) wanting.push_back({-pull, k});
    }
    std::sort(wanting.begin(), wanting.end());
    std::vector<Size> out;
    falling_.clear();
    for (Size w = 0; w < std::min(most, wanting.size()); ++w) {
      const Size k = wanting[w].second;
      out.push_back(k);
      if (gradient_[near_.place(k)] > level) falling_.insert(k);
    }
    return out;
  }

  TablePoint& point_;
  const MatrixProblem& problem_;
  NearMargin& near_;
  const std::function<bool()>& proceed_;
  std::vector<double> beta_, gradient_;  // gradient of the near members
  std::unordered_set<Size> falling_;     // of the entrants that are at zero, those that will fall
  double scale_ = 0.0;                   // of the linear term: violations of tiny targets are tiny
  double halves_[2] = {0.0, 0.0};        // sums of either side, where there is a second sum
};

}  // namespace

bool polish_margin(TablePoint& point, NearMargin& near, Size limit,
                   const std::function<bool()>& proceed) {
  return MarginPolish(point, near, proceed).run(limit);
}

}  // namespace widemargin
