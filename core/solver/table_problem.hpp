// One dual problem over some rows of a kernel table, and its point.
//
//   minimise 1/2 beta' K beta - linear' beta
//   subject to lower <= beta <= upper  and, with an equality constraint,  sum(beta) = total
//
// With a second sum (nu-SVC, mathematics 9.3) every box lies on one side of zero, the sums of
// either side are fixed, and the linear terms are plus and minus a margin that the solver finds.
#pragma once

#include <vector>

#include "kernel/kernel_table.hpp"
#include "solver/extremes.hpp"

namespace widemargin {

struct TableProblem {
  Size n;
  const Index* members;  // rows of the table, ascending
  const double* linear;
  const double* lower;
  const double* upper;
  bool equality;
  double total;
  double* margins = nullptr;  // with a second sum: `linear`, to be moved

  double side(Size k) const { return upper[k] > 0.0 ? 1.0 : -1.0; }
  // What the tolerance is counted in.
  double unit() const { return margins == nullptr ? 1.0 : std::max(margin(), kLeastMargin); }
  double margin() const { return n > 0 ? side(0) * linear[0] : 0.0; }
  void add_to_margin(double change) const {
    for (Size k = 0; k < n; ++k) margins[k] += change * side(k);
  }

  static constexpr double kLeastMargin = 1e-12;
};

// A feasible point and its gradient K beta - linear, in double from single precision entries.
class TablePoint {
 public:
  TablePoint(const KernelTable& table, const TableProblem& problem, double* beta);

  const TableProblem& problem() const { return problem_; }
  const KernelTable& table() const { return table_; }
  double beta(Size k) const { return beta_[k]; }
  double* betas() { return beta_; }
  double gradient(Size k) const { return sums_[places_[k]]; }
  bool can_grow(Size k) const { return beta_[k] < problem_.upper[k]; }
  bool can_fall(Size k) const { return beta_[k] > problem_.lower[k]; }
  bool is_free(Size k) const { return can_grow(k) && can_fall(k); }
  std::vector<Size> support() const;
  Extremes extremes() const;
  // With a second sum: moves the margin to where the levels of both sides meet.
  void recentre();
  // Goes to the vertex that the gradient points to, of the same sums (a step of Frank and Wolfe),
  // so that most members begin at a bound where they stay.
  void to_vertex();

  // Moves the point; the gradient follows.
  void move(const std::vector<Size>& members, const std::vector<double>& targets);
  // Sums the gradient anew.
  void renew();
  // K weights for all members, weights given for some.
  void products(const std::vector<Size>& members, const std::vector<double>& weights,
                double* out) const;

 private:
  struct Range {
    Size begin, length, offset;  // columns of the table, and where their sums are
  };
  void add(const std::vector<Size>& members, const std::vector<double>& weights,
           double* sums) const;

  const KernelTable& table_;
  const TableProblem& problem_;
  double* beta_;
  std::vector<Range> ranges_;  // of columns, that cover the members
  std::vector<Size> places_;   // of the members, in the ranges one behind the other
  std::vector<double> sums_;
};

}  // namespace widemargin
