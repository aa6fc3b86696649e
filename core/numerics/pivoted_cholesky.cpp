#include "numerics/pivoted_cholesky.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "numerics/cholesky.hpp"
#include "numerics/dense.hpp"
#include "numerics/subtract_rows.hpp"
#include "simd/clones.hpp"

namespace widemargin {

namespace {

constexpr Size kColumns = 32;  // of a panel; the trailing matrix is updated once per panel

// The next column of the factor: the matrix's own, less what the panel's earlier columns explain.
// `panel` holds these, `stride` apart; `weights` are their entries in the pivot's row.
WIDEMARGIN_CLONES
void next_column(const double* panel, Size stride, const double* weights, Size done, double pivot,
                 Size count, double* __restrict column, double* __restrict left) {
  subtract_rows(panel, stride, weights, done, count, column);
  for (Size i = 0; i < count; ++i) {
    column[i] /= pivot;
    left[i] -= column[i] * column[i];
  }
}

}  // namespace

// The columns being factored, one behind the other: in the matrix they lie across its rows.
struct PivotedCholesky::Panel {
  Size first, columns, length;  // `length` members from `first` on
  std::vector<double> values;   // [columns][length]
  std::vector<double> left;     // what is left of the diagonal

  double& at(Size column, Size member) { return values[column * length + (member - first)]; }
};

PivotedCholesky::PivotedCholesky(std::vector<double> matrix, Size order, double least, Team& team)
    : factor_(std::move(matrix)), order_(order), members_(order) {
  std::iota(members_.begin(), members_.end(), Size(0));
  while (rank_ < order) {
    const Size first = rank_, length = order - first, columns = std::min(kColumns, length);
    Panel panel{first, columns, length, std::vector<double>(columns * length), {}};
    for (Size i = first; i < order; ++i) panel.left.push_back(factor_[i * order + i]);
    rank_ += factorise(panel, least);
    for (Size i = first; i < order; ++i)
      for (Size k = 0; k < std::min(rank_ - first, i - first + 1); ++k)
        factor_[i * order + first + k] = panel.at(k, i);
    if (rank_ < first + columns) break;
    add_squares(factor_.data() + rank_ * order + rank_, order, panel.values.data() + columns,
                columns, order - rank_, length, -1.0, team);
  }
}

// Factors the columns of a panel, the largest pivot first; returns how many there were.
Size PivotedCholesky::factorise(Panel& panel, double least) {
  for (Size done = 0; done < panel.columns; ++done) {
    const Size here = panel.first + done;
    const auto largest =
        std::max_element(panel.left.begin() + std::ptrdiff_t(done), panel.left.end());
    if (!(*largest > least)) return done;
    const Size there = panel.first + Size(largest - panel.left.begin());
    if (there != here) {
      exchange(here, there);
      for (Size k = 0; k < done; ++k) std::swap(panel.at(k, here), panel.at(k, there));
      std::swap(panel.left[done], *largest);
    }
    const double pivot = std::sqrt(panel.left[done]);
    double weights[kColumns];
    for (Size k = 0; k < done; ++k) weights[k] = panel.at(k, here);
    double* column = &panel.at(done, here);
    column[0] = pivot;
    const Size below = order_ - here - 1;
    for (Size i = 1; i <= below; ++i) column[i] = factor_[(here + i) * order_ + here];
    next_column(panel.values.data() + done + 1, panel.length, weights, done, pivot, below,
                column + 1, panel.left.data() + done + 1);
  }
  return panel.columns;
}

// Members `here` < `there` change places, in the rows factored already and in the matrix left.
void PivotedCholesky::exchange(Size here, Size there) {
  std::swap(members_[here], members_[there]);
  double* matrix = factor_.data();
  const auto at = [&](Size i, Size j) -> double& { return matrix[i * order_ + j]; };
  std::swap_ranges(&at(here, 0), &at(here, 0) + here, &at(there, 0));
  std::swap(at(here, here), at(there, there));
  for (Size i = here + 1; i < there; ++i) std::swap(at(i, here), at(there, i));
  for (Size i = there + 1; i < order_; ++i) std::swap(at(i, here), at(i, there));
}

void PivotedCholesky::solve(double* first, double* second) const {
  std::vector<double> one(rank_), other(rank_);
  for (Size k = 0; k < rank_; ++k) {
    one[k] = first[members_[k]];
    other[k] = second[members_[k]];
  }
  substitute(factor_.data(), order_, rank_, one.data(), other.data());
  std::fill_n(first, order_, 0.0);
  std::fill_n(second, order_, 0.0);
  for (Size k = 0; k < rank_; ++k) {
    first[members_[k]] = one[k];
    second[members_[k]] = other[k];
  }
}

void newton_step(const double* block, Size stride, const std::vector<Index>& members,
                 const double* gradient, const std::vector<Index>& groups, double independence,
                 double* step, Team& team) {
  const Size order = members.size();
  const bool bordered = !groups.empty();
  double largest = 0, sum = 0;
  for (const Index i : members) {
    const double own = block[Size(i) * stride + Size(i)];
    largest = std::max(largest, own);
    sum += own;
  }
  // Added to every entry of a group, it makes the solution with a border a combination of those
  // without.
  double corner = 0;
  if (bordered) corner = sum > 0 ? sum / double(order) : 1.0;
  std::vector<double> matrix(order * order);
  for (Size i = 0; i < order; ++i)
    for (Size j = 0; j <= i; ++j)
      matrix[i * order + j] = block[Size(members[i]) * stride + Size(members[j])] +
                              (bordered && groups[i] == groups[j] ? corner : 0.0);
  const PivotedCholesky factor(std::move(matrix), order, independence * (largest + corner), team);
  std::vector<double> ones[2] = {std::vector<double>(order), std::vector<double>(order)};
  for (Size k = 0; k < order; ++k) {
    step[k] = -gradient[k];
    if (bordered) ones[groups[k]][k] = 1.0;
  }
  factor.solve(step, ones[0].data());
  if (!bordered || factor.rank() == 0) return;
  std::vector<double> spare(order);
  factor.solve(spare.data(), ones[1].data());
  double sums[2] = {}, table[2][2] = {};  // of the step and of the two columns, group by group
  for (Size k = 0; k < order; ++k) {
    sums[groups[k]] += step[k];
    for (int column = 0; column < 2; ++column) table[groups[k]][column] += ones[column][k];
  }
  for (int g = 0; g < 2; ++g)
    if (table[g][g] == 0) table[g][g] = 1.0;  // no such member
  const double determinant = table[0][0] * table[1][1] - table[0][1] * table[1][0];
  const double shifts[2] = {(sums[0] * table[1][1] - sums[1] * table[0][1]) / determinant,
                            (sums[1] * table[0][0] - sums[0] * table[1][0]) / determinant};
  for (Size k = 0; k < order; ++k) step[k] -= shifts[0] * ones[0][k] + shifts[1] * ones[1][k];
}

}  // namespace widemargin
