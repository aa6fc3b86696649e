#include "solver/chain.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "simd/dispatch.hpp"
#include "solver/matrix_solver.hpp"
#include "solver/table_certificate.hpp"

namespace widemargin {

namespace {

constexpr double kGatherShare = 0.6;  // of the columns: fewer are gathered into rows of their own

// The part of a matrix that a chain reads: its own rows, or a copy where these are mostly others.
template <class Real>
class ReadPart {
 public:
  explicit ReadPart(const MatrixPart<Real>& part) : part_(part) {
    const Size m = part.n_members, read = m + part.n_others;
    if (double(read) >= kGatherShare * double(part.stride)) return;
    constexpr Size panel = panel_width<Real>();
    const Size width = (read + panel - 1) / panel * panel;
    gathered_.assign(m * width, Real(0));
    for (Size k = 0; k < m; ++k) {
      const Real* from = part.entries + Size(part.members[k]) * part.stride;
      Real* to = gathered_.data() + k * width;
      for (Size c = 0; c < m; ++c) to[c] = from[part.members[c]];
      for (Size c = m; c < read; ++c) to[c] = from[part.others[c - m]];
    }
    columns_.resize(read);
    std::iota(columns_.begin(), columns_.end(), Index(0));
    part_ = {gathered_.data(), width, columns_.data(), m, columns_.data() + m, part.n_others};
  }

  const MatrixPart<Real>& get() const { return part_; }

 private:
  MatrixPart<Real> part_;
  std::vector<Real> gathered_;
  std::vector<Index> columns_;
};

}  // namespace

void carry_over(const Problem& from, const Problem& to, double* beta) {
  double sum = 0.0, carried = 0.0;
  for (Size k = 0; k < from.n; ++k) {
    sum += beta[k];
    const bool up = beta[k] == from.upper[k] && from.upper[k] > 0.0;
    const bool down = beta[k] == from.lower[k] && from.lower[k] < 0.0;
    if (up) beta[k] = to.upper[k];
    if (down) beta[k] = to.lower[k];
    beta[k] = std::min(std::max(beta[k], to.lower[k]), to.upper[k]);
    carried += beta[k];
  }
  if (!to.equality) return;
  // What is too much is taken from members in equal shares of their room, free ones first.
  for (const bool free_only : {true, false}) {
    const double excess = carried - sum;
    if (excess == 0.0) return;
    double room = 0.0;
    const auto left = [&](Size k) {
      if (free_only && !to.is_free(Index(k), beta[k])) return 0.0;
      return excess > 0.0 ? beta[k] - to.lower[k] : to.upper[k] - beta[k];
    };
    for (Size k = 0; k < to.n; ++k) room += left(k);
    if (!(room > 0.0)) continue;
    const double share = std::min(1.0, std::abs(excess) / room);
    for (Size k = 0; k < to.n; ++k) {
      const double move = share * left(k);
      beta[k] = excess > 0.0 ? std::max(beta[k] - move, to.lower[k])
                             : std::min(beta[k] + move, to.upper[k]);
    }
    carried = 0.0;
    for (Size k = 0; k < to.n; ++k) carried += beta[k];
  }
}

template <class Real>
Outcome solve_chain(const MatrixPart<Real>& given, const ChainSteps& chain, double tolerance,
                    Control& control, double* betas, double* values, double* intercepts,
                    std::int64_t* pair_steps) {
  std::fill_n(pair_steps, chain.n_steps, kNotSolved);
  const ReadPart<Real> read(given);
  const MatrixPart<Real>& part = read.get();
  const Size m = part.n_members;
  std::vector<MatrixProblem> problems;
  for (Size step = 0; step < chain.n_steps; ++step) {
    const Size at = step * m;
    const Problem terms{m,
                        chain.linear + at,
                        chain.lower + at,
                        chain.upper + at,
                        chain.equality,
                        chain.kink == nullptr ? nullptr : chain.kink + at};
    problems.push_back({terms, part.members, 0.0});
  }
  Outcome total;
  if (problems.empty()) return total;
  const Proceed proceed = [&](long steps, double violation) {
    control.report({steps, violation, m});
    return control.seconds_left() > 0.0;
  };
  Aligned<Real> block;
  WholeMatrix<Real> rows(part.entries, part.stride);
  MatrixPoint<Real> point(rows, problems[0], betas, {part.others, part.n_others});
  FaceStep<Real> face;
  MatrixSolver<Real> solver(point, proceed, block, &face);
  try {
    for (Size step = 0; step < chain.n_steps; ++step) {
      if (step > 0) {
        double* beta = betas + step * m;
        std::copy_n(betas + (step - 1) * m, m, beta);
        carry_over(problems[step - 1], problems[step], beta);
        point.take(problems[step], beta);
      }
      Outcome outcome = solver.run(tolerance, control.steps_left(0));
      if (outcome.status == Status::interrupted) outcome.status = Status::max_seconds;
      total.steps += outcome.steps;
      if (outcome.status != Status::converged) total.status = outcome.status;
      if (outcome.status == Status::max_seconds || outcome.status == Status::max_steps)
        return total;
      pair_steps[step] = outcome.steps;
      double* own = values + step * (m + part.n_others);
      point.values(own);
      intercepts[step] = optimal_intercept(problems[step], {own, nullptr, nullptr});
    }
  } catch (const Interrupted&) {
    total.status = Status::interrupted;
  }
  return total;
}

template Outcome solve_chain<float>(const MatrixPart<float>&, const ChainSteps&, double, Control&,
                                    double*, double*, double*, std::int64_t*);
template Outcome solve_chain<double>(const MatrixPart<double>&, const ChainSteps&, double, Control&,
                                     double*, double*, double*, std::int64_t*);

}  // namespace widemargin
