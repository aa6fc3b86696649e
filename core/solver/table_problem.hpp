// One dual problem over some rows of a kernel table, and its point.
//
//   minimise 1/2 beta' K beta - linear' beta
//   subject to lower <= beta <= upper  and, with an equality constraint,  sum(beta) = total
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
