// One dual problem over some rows of a symmetric matrix in memory, and its point.
//
//   minimise 1/2 beta' K beta - linear' beta + kink' |beta|
//   subject to lower <= beta <= upper  and, with an equality constraint,  sum(beta) = total
//
// With a second sum (mathematics 9.3) the sums of either side of zero are fixed. Of nu-SVC every
// box lies on one side, and the linear terms are plus and minus a margin that the solver finds; of
// nu-SVR it finds the kink.
#pragma once

#include <vector>

#include "kernel/matrix_rows.hpp"
#include "solver/extremes.hpp"

namespace widemargin {

struct MatrixProblem : Problem {
  const Index* members;  // rows of the matrix
  double total;
  double* margins = nullptr;  // of nu-SVC: `linear`, to be moved; of nu-SVR there is a `second`

  bool two_sums() const { return margins != nullptr || second != nullptr; }
  double side(Size k) const { return upper[k] > 0.0 ? 1.0 : -1.0; }
  // What the tolerance is counted in.
  double unit() const { return margins == nullptr ? 1.0 : std::max(margin(), kLeastMargin); }
  double margin() const { return n > 0 ? side(0) * linear[0] : 0.0; }
  // The multiplier of the second sum: the margin, or the kink of all members.
  double multiplier() const {
    if (margins != nullptr) return margin();
    return second != nullptr ? second->multiplier : 0.0;
  }
  void set_multiplier(double to) const {
    if (second != nullptr) second->multiplier = to;
    if (margins == nullptr) return;
    const double change = to - margin();
    for (Size k = 0; k < n; ++k) margins[k] += change * side(k);
  }
  // The multiplier with which the levels of both sides meet, these found at the present one.
  double meeting(const SideExtremes& sides) const {
    return margins != nullptr ? margin() - sides.multiplier() : sides.multiplier();
  }

  static constexpr double kLeastMargin = 1e-12;
};

// Columns of the matrix that are only read: of rows that are held out, whose K beta is wanted.
struct OtherColumns {
  const Index* columns = nullptr;
  Size count = 0;
};

constexpr Size kColumnGap = 64;  // shorter gaps between columns are summed, not skipped

// A feasible point and its gradient K beta - linear, summed in double.
template <class Real>
class MatrixPoint {
 public:
  // The rows and the problem must outlive the point. `from_vertex`: beta first goes to the vertex
  // that the gradient points to, of the same sums (a step of Frank and Wolfe), so that most members
  // begin at a bound where they stay. Not for problems with a kink.
  MatrixPoint(MatrixRows<Real>& rows, const MatrixProblem& problem, double* beta,
              const OtherColumns& others = {}, bool from_vertex = false);

  const MatrixProblem& problem() const { return *problem_; }
  double beta(Size k) const { return beta_[k]; }
  double* betas() { return beta_; }
  double gradient(Size k) const { return sums_[places_[k]] - problem_->linear[k]; }
  bool can_grow(Size k) const { return beta_[k] < problem_->upper[k]; }
  bool can_fall(Size k) const { return beta_[k] > problem_->lower[k]; }
  bool is_free(Size k) const { return problem_->is_free(Index(k), beta_[k]); }
  // The gradient on the side of the kink that a member grows to, or falls to.
  double growth_slope(Size k) const {
    return gradient(k) + growth_offset(beta_[k], problem_->kink_of(Index(k)));
  }
  double fall_slope(Size k) const {
    return gradient(k) + fall_offset(beta_[k], problem_->kink_of(Index(k)));
  }
  const MatrixRows<Real>& rows() const { return rows_; }
  // Whether a member's row was provided, and the rows of members that were not.
  bool has_row(Size k) const { return rows_.whole() || provided_[k] != 0; }
  void provide(const std::vector<Size>& members) const;
  // Segments of the matrix that have columns of the problem.
  std::vector<Size> segments() const;
  std::vector<Size> support() const;
  Extremes extremes() const;

  // With a second sum: moves its multiplier to where the levels of both sides meet.
  void recentre();
  // Moves the point; the gradient follows.
  void move(const std::vector<Size>& members, const std::vector<double>& targets);
  // Goes on with another problem over the same members, from another point of these.
  void take(const MatrixProblem& problem, double* beta);
  // The same where beta is that of the point up to now: it moves to `targets`.
  void go_to(const MatrixProblem& problem, double* beta, const std::vector<double>& targets);
  // The same where K beta is known, as values() has it, but for some rows of a whole matrix.
  void take(const MatrixProblem& problem, double* beta, const double* values,
            const std::vector<Index>& rows = {}, const std::vector<double>& weights = {});
  // Sums the gradient anew.
  void renew();
  // K weights for all members, weights given for some.
  void products(const std::vector<Size>& members, const std::vector<double>& weights,
                double* out) const;
  // K beta at the members, then at the other columns.
  void values(double* out) const;

 private:
  struct Range {
    Size begin, length, offset;  // columns of the matrix, and where their sums are
  };
  void estimate();
  void to_vertex();
  void add(const std::vector<Size>& members, const std::vector<double>& weights,
           double* sums) const;
  void add_rows(const std::vector<Index>& rows, const std::vector<double>& weights,
                double* sums) const;

  MatrixRows<Real>& rows_;
  mutable std::vector<char> provided_;  // of the members, where not all rows are there
  const MatrixProblem* problem_;
  double* beta_;
  std::vector<Range> ranges_;  // of columns, within segments, that cover the members and the others
  std::vector<Size> places_;   // of these, in the ranges one behind the other
  std::vector<double> sums_;   // K beta
};

}  // namespace widemargin
