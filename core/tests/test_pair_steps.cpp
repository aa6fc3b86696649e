// Which pair a step chooses.
#include <vector>

#include "memory/aligned.hpp"
#include "simd/dispatch.hpp"
#include "tests/testing.hpp"

using namespace widemargin;
using testing::require;

namespace {

// Members that do not depend on each other: those that can grow and those that can fall take turns
// from `first` on, all with the same slope. The members before can do neither.
template <class Real>
struct Equals {
  static constexpr Size kMembers = 192;
  Aligned<Real> rows, diagonal, gradient, growth, fall, none;
  std::vector<double> beta, lower, upper;
  std::vector<const Real*> places;

  explicit Equals(Size first)
      : rows(kMembers * kMembers, Real(0)),
        diagonal(kMembers, Real(1)),
        gradient(kMembers, Real(0)),
        growth(kMembers),
        fall(kMembers),
        none(kMembers, Real(0)),
        beta(kMembers, 0.0),
        lower(kMembers, 0.0),
        upper(kMembers, 0.0) {
    for (Size k = 0; k < kMembers; ++k) {
      rows[k * kMembers + k] = Real(1);
      places.push_back(rows.data() + k * kMembers);
      const bool grows = (k - first) % 2 == 0;
      gradient[k] = Real(grows ? -1 : 1);
      if (k >= first) (grows ? upper : lower)[k] = grows ? 0.5 : -0.5;
    }
  }

  long take(long steps) {
    PairCall<Real> call{};
    call.size = kMembers, call.rows = places.data(), call.diagonal = diagonal.data();
    call.gradient = gradient.data(), call.growth = growth.data(), call.fall = fall.data();
    call.above = call.below = none.data();
    call.beta = beta.data(), call.lower = lower.data(), call.upper = upper.data();
    call.tolerance = 1e-3, call.max_steps = steps;
    for (Size k = 0; k < kMembers; ++k) note_sides(call, k);
    return routines<Real>().pairs(call);
  }
};

template <class Real>
void chooses_the_first_of_equals() {
  for (Size first = 0; first < 70; ++first)
    for (const long steps : {1, 2, 11, 40}) {
      Equals<Real> members(first);
      require(members.take(steps) == steps, "a pair for every step");
      for (Size k = 0; k < Equals<Real>::kMembers; ++k) {
        const bool moved = k >= first && k < first + 2 * Size(steps);
        require((members.beta[k] != 0.0) == moved, "pairs from the first member on");
      }
    }
  Equals<Real> none(Equals<Real>::kMembers);
  require(none.take(1) == 0, "no member can move");
}

}  // namespace

WIDEMARGIN_TEST(of_equal_pairs_the_first_is_chosen) {
  chooses_the_first_of_equals<float>();
  chooses_the_first_of_equals<double>();
}
