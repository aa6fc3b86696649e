#include "solver/subspace_step.hpp"

#include <algorithm>
#include <optional>

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
      changes_(kMostBursts * call.size),
      responses_(kMostBursts * call.size),
      products_(kMostBursts * kMostBursts) {
  begin_burst();
}

template <class Real>
void SubspaceStep<Real>::begin_burst() {
  beta_.assign(call_.beta, call_.beta + call_.size);
  gradient_.assign(call_.gradient, call_.gradient + call_.size);
}

template <class Real>
void SubspaceStep<Real>::take() {
  if (!same_face()) {
    count_ = 0;
  } else {
    note_burst();
    if (!minimise() || !move()) count_ = 0;
  }
  begin_burst();
}

// Of two sums, a member that crossed zero has left one side for the other: to go on so would not
// keep the sum of either.
template <class Real>
bool SubspaceStep<Real>::same_face() const {
  const bool sides = call_.minus_growth != nullptr;
  for (Size k = 0; k < call_.size; ++k) {
    if (call_.beta[k] == beta_[k]) continue;
    if (offset_of(call_, k) == Real(kInfinity)) return false;
    if (sides && call_.beta[k] * beta_[k] < 0.0) return false;
  }
  return true;
}

template <class Real>
void SubspaceStep<Real>::note_burst() {
  const Size size = call_.size;
  const Size place = count_ < kMostBursts ? count_++ : oldest_;
  oldest_ = (place + 1) % kMostBursts;
  double* change = changes_.data() + place * size;
  Real* response = responses_.data() + place * size;
  for (Size k = 0; k < size; ++k) {
    change[k] = call_.beta[k] - beta_[k];
    response[k] = call_.gradient[k] - gradient_[k];
  }
  double products[kMostBursts];
  routines<Real>().times_rows(responses_.data(), count_, size, change, products);
  for (Size a = 0; a < count_; ++a)
    products_[a * kMostBursts + place] = products_[place * kMostBursts + a] = products[a];
}

// False where the bursts depend on each other.
template <class Real>
bool SubspaceStep<Real>::minimise() {
  GrowingCholesky factor;
  for (Size a = 0; a < count_; ++a) {
    const double diagonal = products_[a * kMostBursts + a];
    double column[kMostBursts];
    std::copy_n(products_.data() + a * kMostBursts, a, column);
    factor.forward(column);
    double pivot = diagonal;
    for (Size b = 0; b < a; ++b) pivot -= column[b] * column[b];
    if (!(pivot > kIndependence * diagonal)) return false;
    factor.append(column, pivot);
  }
  std::vector<double>& slopes = beta_;
  for (Size k = 0; k < call_.size; ++k) {
    const Real offset = offset_of(call_, k);
    slopes[k] = offset == Real(kInfinity) ? 0.0 : -double(call_.gradient[k] + offset);
  }
  routines<double>().times_rows(changes_.data(), count_, call_.size, slopes.data(), lengths_);
  factor.solve(lengths_);
  return true;
}

// Goes as far as the box allows; false where a member has reached its end.
template <class Real>
bool SubspaceStep<Real>::move() {
  const Size size = call_.size;
  step_.assign(size, 0.0), response_.assign(size, 0.0);
  routines<double>().sum_rows(changes_.data(), count_, size, lengths_, step_.data());
  routines<Real>().sum_rows(responses_.data(), count_, size, lengths_, response_.data());
  double share = 1.0;
  for (Size k = 0; k < size; ++k)
    if (step_[k] != 0.0)
      share = std::min(share, (segment_end(call_, k, step_[k] > 0.0) - call_.beta[k]) / step_[k]);
  bool same = true;
  for (Size k = 0; k < size; ++k) {
    call_.gradient[k] = Real(double(call_.gradient[k]) + share * response_[k]);
    if (step_[k] == 0.0) continue;
    const double end = segment_end(call_, k, step_[k] > 0.0);
    const bool reached = (end - call_.beta[k]) / step_[k] <= share;
    call_.beta[k] = reached ? end : call_.beta[k] + share * step_[k];
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
