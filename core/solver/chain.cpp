#include "solver/chain.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "simd/dispatch.hpp"
#include "solver/matrix_solver.hpp"
#include "solver/table_certificate.hpp"

namespace widemargin {

namespace {

// Of the columns that sums of rows would run over: fewer are gathered into rows of their own.
constexpr double kGatherShare = 0.6;

// Columns from the first to the last of each run, as a MatrixPoint sums them.
template <class Real>
Size covered(const MatrixPart<Real>& part) {
  std::vector<Index> columns(part.members, part.members + part.n_members);
  columns.insert(columns.end(), part.others, part.others + part.n_others);
  std::sort(columns.begin(), columns.end());
  Size count = columns.empty() ? 0 : 1;
  for (Size c = 1; c < columns.size(); ++c) {
    const Size step = Size(columns[c] - columns[c - 1]);
    count += step > kColumnGap + 1 ? 1 : step;
  }
  return count;
}

// The part of a matrix that a chain reads: its own rows, or a copy where these are mostly others.
template <class Real>
class ReadPart {
 public:
  // `others`: whether rows of the others are read, too.
  ReadPart(const MatrixPart<Real>& part, bool others) : part_(part) {
    const Size m = part.n_members, read = m + part.n_others;
    if (others || double(read) >= kGatherShare * double(covered(part))) return;
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

// Takes what a sum is too large by from the members whose slope is largest, and adds what it lacks
// to those whose slope is least, each as far as its bound or its kink: shared out over all members,
// it would make support vectors of thousands.
void take_excess(const Problem& to, const double* gradient, double excess, double* beta) {
  std::vector<std::pair<double, Size>> order;
  do {
    const double sign = excess > 0.0 ? 1.0 : -1.0;
    const auto end = [&](Size k) {
      const double bound = sign > 0.0 ? to.lower[k] : to.upper[k];
      const bool crosses = sign * beta[k] > 0.0 && sign * bound < 0.0;
      return crosses && to.stops_at_zero(Index(k)) ? 0.0 : bound;
    };
    order.clear();
    for (Size k = 0; k < to.n; ++k) {
      const double kink = to.kink_of(Index(k));
      const double offset = sign > 0.0 ? fall_offset(beta[k], kink) : growth_offset(beta[k], kink);
      if (beta[k] != end(k)) order.push_back({-sign * (gradient[k] + offset), k});
    }
    std::sort(order.begin(), order.end());
    for (const auto& member : order) {
      const Size k = member.second;
      const double room = std::abs(beta[k] - end(k));
      if (room > std::abs(excess)) {
        beta[k] -= excess;
        return;
      }
      beta[k] = end(k);
      excess -= sign * room;
    }
  } while (excess != 0.0 && !order.empty());
}

constexpr double kRounding = 1e-12;  // of a box: what sums of coefficients may miss its ends by

// Rows of the matrix, each with what its coefficient is short of.
struct Lag {
  std::vector<Index> rows;
  std::vector<double> weights;
  void note(Index row, double weight) {
    if (weight == 0.0) return;
    rows.push_back(row), weights.push_back(weight);
  }
};

// Moves beta as the solution of a similar problem moved, from zero where there is none before, and
// returns what did not follow: members that a bound stops, and the others, which are none here.
// Ends of the box, and zero, are met exactly: a member that misses its bound by rounding would
// count as a free one.
template <class Real>
Lag follow(const double* before, const double* after, const MatrixPart<Real>& part,
           const Problem& to, double* beta) {
  Lag lag;
  const auto change = [&](Size k) { return after[k] - (before == nullptr ? 0.0 : before[k]); };
  for (Size k = 0; k < to.n; ++k) {
    const double moved = beta[k] + change(k);
    const double room = kRounding * (to.upper[k] - to.lower[k]);
    beta[k] = std::min(std::max(moved, to.lower[k]), to.upper[k]);
    for (const double end : {to.lower[k], 0.0, to.upper[k]})
      if (std::abs(moved - end) <= room) beta[k] = end;
    if (std::abs(beta[k] - moved) > room) lag.note(part.members[k], beta[k] - moved);
  }
  for (Size c = 0; c < part.n_others; ++c) lag.note(part.others[c], -change(to.n + c));
  return lag;
}

}  // namespace

void carry_over(const Problem& from, const Problem& to, const double* gradient, double* beta) {
  double excess = 0.0;
  for (Size k = 0; k < from.n; ++k) {
    const double before = beta[k];
    const bool up = beta[k] == from.upper[k] && from.upper[k] > 0.0;
    const bool down = beta[k] == from.lower[k] && from.lower[k] < 0.0;
    if (up) beta[k] = to.upper[k];
    if (down) beta[k] = to.lower[k];
    beta[k] = std::min(std::max(beta[k], to.lower[k]), to.upper[k]);
    excess += beta[k] - before;
  }
  if (to.equality) take_excess(to, gradient, excess, beta);
}

template <class Real>
Outcome solve_chain(const MatrixPart<Real>& given, const ChainSteps& chain, double tolerance,
                    Control& control, double* betas, double* values, double* intercepts,
                    std::int64_t* pair_steps) {
  std::fill_n(pair_steps, chain.n_steps, kNotSolved);
  const ReadPart<Real> own_part(given, chain.similar != nullptr);
  const MatrixPart<Real>& part = own_part.get();
  const Size m = part.n_members, read = m + part.n_others;
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
  std::vector<double> gradient(m);
  const auto note_gradient = [&] {
    for (Size k = 0; k < m; ++k) gradient[k] = point.gradient(k);
  };
  MatrixSolver<Real> solver(point, proceed, block, &face);
  try {
    for (Size step = 0; step < chain.n_steps; ++step) {
      double* beta = betas + step * m;
      double* own = values + step * read;
      if (chain.started) {
        point.take(problems[step], beta, own);
      } else if (chain.similar != nullptr) {
        if (step > 0) std::copy_n(betas + (step - 1) * m, m, beta);
        const double* after = chain.similar + step * read;
        const double* known = chain.similar_values + step * read;
        const Lag lag =
            follow(step > 0 ? after - read : nullptr, after, part, problems[step], beta);
        for (Size c = 0; c < read; ++c)
          own[c] = known[c] + (step > 0 ? own[c - read] - known[c - read] : 0.0);
        point.take(problems[step], beta, own, lag.rows, lag.weights);
        std::vector<double> next(beta, beta + m);
        if (chain.equality) {
          note_gradient();
          const double excess = std::accumulate(next.begin(), next.end(), 0.0);
          take_excess(problems[step], gradient.data(), excess, next.data());
          point.go_to(problems[step], beta, next);
        }
      } else if (step > 0) {
        std::copy_n(betas + (step - 1) * m, m, beta);
        note_gradient();
        carry_over(problems[step - 1], problems[step], gradient.data(), beta);
        point.take(problems[step], beta);
      }
      Outcome outcome = solver.run(tolerance, control.steps_left(0));
      if (outcome.status == Status::interrupted) outcome.status = Status::max_seconds;
      total.steps += outcome.steps;
      if (outcome.status != Status::converged) total.status = outcome.status;
      if (outcome.status == Status::max_seconds || outcome.status == Status::max_steps)
        return total;
      pair_steps[step] = outcome.steps;
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
