#include "solver/subspace_step.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "numerics/cholesky.hpp"
#include "solver/box_pairs.hpp"

namespace widemargin {

namespace {

constexpr long kLeastBurst = 100;       // pair steps
constexpr double kBurstShare = 0.1;     // of the members
constexpr double kIndependence = 1e-4;  // of the diagonal, below which a pivot is rounding

// What is added to the gradient of a member that is free and not at its kink, or infinity.
template <class Real>
Real offset_of(const PairCall<Real>& call, Size k) {
  if (call.growth[k] == call.fall[k]) return call.growth[k];
  if (call.minus_growth != nullptr && call.minus_growth[k] == call.minus_fall[k])
    return call.minus_growth[k];
  return Real(kInfinity);
}

}  // namespace

template <class Real>
SubspaceStep<Real>::SubspaceStep(const PairCall<Real>& call)
    : call_(call),
      beta_(call.beta, call.beta + call.size),
      gradient_(call.gradient, call.gradient + call.size),
      step_(call.size, 0.0),
      response_(call.size),
      changed_(call.size) {}

template <class Real>
void SubspaceStep<Real>::take() {
  const Size changed = find_changed();
  if (!same_face(changed)) {
    count_ = 0;
  } else {
    note_burst(changed);
    if (!minimise() || !move()) count_ = 0;
  }
  // The next burst begins here; what has moved last did so with a burst that is kept.
  for (Size c = 0; c < changed; ++c) beta_[changed_[c]] = call_.beta[changed_[c]];
  for (const Size k : stepped_) beta_[k] = call_.beta[k];
  stepped_.clear();
  std::copy_n(call_.gradient, call_.size, gradient_.begin());
}

// Lists the members that the burst has changed; returns their number. Without a branch, which no
// processor predicts.
template <class Real>
Size SubspaceStep<Real>::find_changed() {
  Size changed = 0;
  for (Size k = 0; k < call_.size; ++k) {
    changed_[changed] = k;
    changed += call_.beta[k] != beta_[k] ? 1 : 0;
  }
  return changed;
}

// Of two sums, a member that crossed zero has left one side for the other: to go on so would not
// keep the sum of either.
template <class Real>
bool SubspaceStep<Real>::same_face(Size changed) const {
  const bool sides = call_.minus_growth != nullptr;
  for (Size c = 0; c < changed; ++c) {
    const Size k = changed_[c];
    if (offset_of(call_, k) == Real(kInfinity)) return false;
    if (sides && call_.beta[k] * beta_[k] < 0.0) return false;
  }
  return true;
}

template <class Real>
void SubspaceStep<Real>::note_burst(Size changed) {
  const Size place = count_ < kMostBursts ? count_++ : oldest_;
  oldest_ = (place + 1) % kMostBursts;
  Burst& burst = bursts_[place];
  burst.members.assign(changed_.begin(), changed_.begin() + std::ptrdiff_t(changed));
  burst.changes.resize(changed);
  for (Size c = 0; c < changed; ++c)
    burst.changes[c] = call_.beta[burst.members[c]] - beta_[burst.members[c]];
  burst.response.resize(call_.size);
  for (Size k = 0; k < call_.size; ++k) burst.response[k] = call_.gradient[k] - gradient_[k];
  for (Size a = 0; a < count_; ++a) {
    double product = 0.0;
    for (Size c = 0; c < changed; ++c)
      product += burst.changes[c] * double(bursts_[a].response[burst.members[c]]);
    products_[a * kMostBursts + place] = products_[place * kMostBursts + a] = product;
  }
}

// False where the bursts depend on each other.
template <class Real>
bool SubspaceStep<Real>::minimise() {
  GrowingCholesky factor;
  for (Size a = 0; a < count_; ++a) {
    const double diagonal = products_[a * kMostBursts + a];
    double column[kMostBursts];
    std::copy_n(products_ + a * kMostBursts, a, column);
    factor.forward(column);
    double pivot = diagonal;
    for (Size b = 0; b < a; ++b) pivot -= column[b] * column[b];
    if (!(pivot > kIndependence * diagonal)) return false;
    factor.append(column, pivot);
  }
  for (Size a = 0; a < count_; ++a) {
    lengths_[a] = 0.0;
    for (Size c = 0; c < bursts_[a].members.size(); ++c) {
      const Size k = bursts_[a].members[c];
      const Real offset = offset_of(call_, k);
      if (offset == Real(kInfinity)) continue;
      lengths_[a] -= bursts_[a].changes[c] * double(call_.gradient[k] + offset);
    }
  }
  factor.solve(lengths_);
  return true;
}

// Goes as far as the box allows; false where a member has reached its end.
template <class Real>
bool SubspaceStep<Real>::move() {
  std::fill(response_.begin(), response_.end(), 0.0);
  for (Size a = 0; a < count_; ++a) {
    const Burst& burst = bursts_[a];
    for (Size c = 0; c < burst.members.size(); ++c) {
      const Size k = burst.members[c];
      if (step_[k] == 0.0) stepped_.push_back(k);
      step_[k] += lengths_[a] * burst.changes[c];
    }
    for (Size k = 0; k < call_.size; ++k) response_[k] += lengths_[a] * double(burst.response[k]);
  }
  double share = 1.0;
  for (const Size k : stepped_)
    if (step_[k] != 0.0)
      share = std::min(share, (segment_end(call_, k, step_[k] > 0.0) - call_.beta[k]) / step_[k]);
  for (Size k = 0; k < call_.size; ++k)
    call_.gradient[k] = Real(double(call_.gradient[k]) + share * response_[k]);
  bool same = true;
  for (const Size k : stepped_) {
    const double step = std::exchange(step_[k], 0.0);
    if (step == 0.0) continue;
    const double end = segment_end(call_, k, step > 0.0);
    const bool reached = (end - call_.beta[k]) / step <= share;
    call_.beta[k] = reached ? end : call_.beta[k] + share * step;
    if (call_.beta[k] != end) continue;
    note_sides(call_, k);
    same = false;
  }
  return same;
}

template <class Real>
long descend(PairCall<Real> call, Size members, bool equality) {
  const long most = call.max_steps;
  const long burst = std::max(kLeastBurst, long(kBurstShare * double(members)));
  std::optional<SubspaceStep<Real>> step;  // short descents do without
  for (long steps = 0;;) {
    call.max_steps = std::min(burst, most - steps);
    const long taken = equality ? routines<Real>().pairs(call) : box_pairs(call, members);
    steps += taken;
    if (taken < burst) return steps;
    if (step)
      step->take();
    else
      step.emplace(call);
  }
}

template class SubspaceStep<float>;
template class SubspaceStep<double>;
template long descend<float>(PairCall<float>, Size, bool);
template long descend<double>(PairCall<double>, Size, bool);

}  // namespace widemargin
