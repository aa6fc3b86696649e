// The margin set of a path: which rows are in it, their kernel columns, and the updated
// factor of K_MM + corner 11' that solves its bordered system (mathematics 3.4).
#pragma once

#include <vector>

#include "kernel/position.hpp"
#include "numerics/cholesky.hpp"

namespace widemargin {

class MarginSet {
 public:
  // `diagonal` holds K_ii of all rows; without an equality constraint there is no border.
  MarginSet(const std::vector<double>& diagonal, bool has_equality);

  bool empty() const { return members_.size() == 0; }
  Size size() const { return members_.size(); }
  Positions positions() const { return members_.positions(); }
  Size operator[](Position p) const { return members_[p]; }  // the row of a member
  double largest_diagonal() const { return largest_diagonal_; }

  // Takes `row` in, and its column with it. False, and nothing changed, when the row depends
  // on the members in feature space (duplicates, more members than dimensions): the bordered
  // matrix would be singular (3.2, corner case 2).
  bool insert(Size row, std::vector<double>& column);

  // Takes `row` out and hands its column back.
  std::vector<double> remove(Size row);

  // [0 1'; 1 K_MM] [shift; x] = [sum; right]; `right` becomes x, the shift is returned. Without
  // equality K_MM x = right, and the shift is 0.
  double solve(ByPosition<double>& right, double sum) const;

  // out += K[:, M] weights: the passes over rows x margin set.
  void accumulate(const ByPosition<double>& weights, std::vector<double>& out) const;
  // Two of them in one.
  void accumulate(const ByPosition<double>& weights, std::vector<double>& out,
                  const ByPosition<double>& others, std::vector<double>& other_out) const;
  // The same at the watched rows alone, `out` in their order.
  void accumulate_watched(const ByPosition<double>& weights, std::vector<double>& out) const;
  void watch(const std::vector<Size>& rows);
  void watch(Size row);  // besides
  void watch_all();

  // A fresh factor from the columns held.
  void refactor();

 private:
  double least_pivot() const;
  void take_excerpt(const std::vector<double>& column, std::vector<double>& out) const;
  double reduce(Size row, const std::vector<double>& column, Size count,
                std::vector<double>& reduced) const;

  const std::vector<double>& diagonal_;
  bool has_equality_;
  double corner_ = 0;  // gamma of 3.4: the mean of the diagonal
  double largest_diagonal_ = 0;
  ByPosition<Size> members_;  // rows
  std::vector<std::vector<double>> columns_;
  bool watches_all_ = true;
  std::vector<Size> watched_;                  // else: some rows,
  std::vector<std::vector<double>> excerpts_;  // and the columns there
  GrowingCholesky factor_;
};

}  // namespace widemargin
