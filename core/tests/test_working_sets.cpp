// What a choice of a working set reads of all active samples.
#include <algorithm>
#include <random>
#include <vector>

#include "kernel/position.hpp"
#include "simd/dispatch.hpp"
#include "solver/extremes.hpp"
#include "solver/worst_candidates.hpp"
#include "tests/testing.hpp"

using namespace widemargin;
using testing::require;

namespace {

// Variables at their bounds, at zero and between, some with a kink.
struct Variables {
  std::vector<double> gradients, betas, lower, upper, kinks;

  explicit Variables(Size count) {
    std::mt19937_64 generator(count);
    std::normal_distribution<double> normal;
    for (Size k = 0; k < count; ++k) {
      gradients.push_back(normal(generator));
      lower.push_back(-double(generator() % 2));
      upper.push_back(double(generator() % 2));
      const double between = 0.25 * double(generator() % 5);
      betas.push_back(lower.back() + between * (upper.back() - lower.back()));
      kinks.push_back(0.1 * double(generator() % 3));
    }
  }
  Slopes slopes() const {
    return {gradients.data(), betas.data(), lower.data(),
            upper.data(),     kinks.data(), gradients.size()};
  }
  Extremes extremes(Size first, Size end) const {
    Extremes out;
    for (Size k = first; k < end; ++k)
      out.meet(gradients[k], betas[k], lower[k], upper[k], kinks[k]);
    return out;
  }
};

}  // namespace

WIDEMARGIN_TEST(extremes_of_vectors_are_those_of_single_variables) {
  for (Size count = 0; count < 70; ++count) {
    const Variables variables(count);
    Extremes out;
    routines<double>().slope_extremes(variables.slopes(), &out.lowest_up, &out.highest_low);
    const Extremes expected = variables.extremes(0, count);
    require(out.lowest_up == expected.lowest_up, "out.lowest_up == expected.lowest_up");
    require(out.highest_low == expected.highest_low, "out.highest_low == expected.highest_low");
  }
}

WIDEMARGIN_TEST(no_block_with_a_slope_beyond_the_limits_is_passed_over) {
  const Variables variables(203);
  for (const double limit : {0.5, 1.0, 1.5, 2.0, 9.0}) {
    std::vector<Size> expected, found;
    const Size whole = 203 / kSlopeBlock * kSlopeBlock;
    for (Size first = 0; first < whole; first += kSlopeBlock) {
      const Extremes own = variables.extremes(first, first + kSlopeBlock);
      if (own.lowest_up < -limit || own.highest_low > limit) expected.push_back(first);
    }
    expected.push_back(whole);  // the rest is always looked at
    const auto next = [&](Size first) {
      return routines<double>().next_beyond(variables.slopes(), first, -limit, limit);
    };
    for (Size first = next(0); first < 203; first = next(first + kSlopeBlock))
      found.push_back(first);
    require(found == expected, "found == expected");
  }
}

WIDEMARGIN_TEST(candidates_given_up_on_the_way_are_not_among_the_worst) {
  std::mt19937_64 generator(0);
  for (Size count = 1; count < 60; ++count) {
    WorstCandidates<Position> worst;
    worst.begin(count, 15.0);
    std::vector<WorstCandidates<Position>::Candidate> all;
    for (Size k = 0; k < 400; ++k) {
      const double figure = double(generator() % 20);  // many are equal
      worst.offer(figure, Position(k));
      if (figure < 15.0) all.push_back({figure, Position(k)});
    }
    worst.sort();
    keep_worst(all, count);
    require(worst.list() == all, "worst.list() == all");
  }
}
