// The margin set of a path: which rows are in it, their kernel columns, and the updated
// factor of K_MM + corner 11' that solves its bordered system (mathematics 3.4).
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "numerics/cholesky.hpp"

namespace widemargin {

class MarginSet {
 public:
  // `diagonal` holds K_ii of all rows; without an equality constraint there is no border.
  MarginSet(const std::vector<double>& diagonal, bool has_equality);

  bool empty() const { return members_.empty(); }
  std::size_t size() const { return members_.size(); }
  std::size_t operator[](std::size_t position) const { return members_[position]; }
  const std::vector<std::size_t>& members() const { return members_; }
  double largest_diagonal() const { return largest_diagonal_; }

  // Takes `row` in, and its column with it. False, and nothing changed, when the row depends
  // on the members in feature space (duplicates, more members than dimensions): the bordered
  // matrix would be singular (3.2, corner case 2).
  bool insert(std::size_t row, std::vector<double>& column);

  // Takes `row` out and hands its column back.
  std::vector<double> remove(std::size_t row);

  // [0 1'; 1 K_MM] [shift; x] = [sum; right]; `right` becomes x. Without equality K_MM x = right.
  void solve(std::vector<double>& right, double sum, double* shift) const;

  // out += K[:, M] weights: the only pass over rows x margin set.
  void accumulate(const std::vector<double>& weights, std::vector<double>& out) const;

  // A fresh factor from the columns held.
  void refactor();

 private:
  double least_pivot() const;
  double reduce(std::size_t row, const std::vector<double>& column, std::size_t count,
                std::vector<double>& reduced) const;

  const std::vector<double>& diagonal_;
  bool has_equality_;
  double corner_ = 0;  // gamma of 3.4: the mean of the diagonal
  double largest_diagonal_ = 0;
  std::vector<std::size_t> members_;
  std::vector<std::vector<double>> columns_;
  GrowingCholesky factor_;
};

}  // namespace widemargin
