// The members of a problem near its margin, and their kernel entries in double precision.
//
// Members far beyond the margin enter neither the objective nor the violation: it is enough that
// sums of single precision entries, with a bound on their rounding, prove where they are.
#pragma once

#include <vector>

#include "solver/table_point.hpp"

namespace widemargin {

class NearMargin {
 public:
  // The support vectors and all that may come to the margin; all members with `every`. `memory` is
  // for the entries: a thread keeps it for its next problem.
  NearMargin(const TablePoint& point, bool every, std::vector<double>& memory);

  Size size() const { return members_.size(); }
  bool all() const { return size() == point_.problem().n; }
  // How many kernel entries rows of all support vectors have.
  Size entries() const { return size() * point_.support().size(); }
  // The members, the support vectors first, each part ascending; and the place of each of the
  // problem's among them, if it has one.
  const std::vector<Size>& members() const { return members_; }
  bool contains(Size k) const { return places_[k] != kNowhere; }
  Size place(Size k) const { return places_[k]; }

  // Row of a near member: its entries with all near members. Valid until the next `evaluate`.
  const double* row(Size k) const { return rows_.data() + numbers_[k] * size(); }
  // Evaluates the rows of these members, for `row`.
  void evaluate(const std::vector<Size>& members);
  // sums += sum over members of weights times their rows.
  void add(const std::vector<Size>& members, const std::vector<double>& weights,
           std::vector<double>& sums) const;

  // K beta of the near members in double, summed anew, with bounds on the rounding.
  void verify(Team& team, double* values, double* errors) const;

 private:
  void evaluate_by_symmetry(const std::vector<double*>& store);
  void verify_support(Team& team, const std::vector<Size>& support,
                      const std::vector<double>& weights, double* values, double* errors) const;
  bool holds(const std::vector<Size>& members) const;

  static constexpr Size kNowhere = Size(-1);

  const TablePoint& point_;
  std::vector<Size> members_, places_;
  std::vector<Size> numbers_;  // of the rows that are there
  Size n_rows_ = 0;
  std::vector<double>& rows_;
};

// The extremes of the near members' gradients with their bounds: at the worse end of each.
Extremes worst_extremes(const TablePoint& point, const NearMargin& near, const double* values,
                        const double* errors);

// Writes K beta of all other members, from the table, with bounds on the rounding; returns those
// that are not proved to lie beyond the margin. `values` and `errors` of the near ones are given.
std::vector<Size> verify_far(const TablePoint& point, const NearMargin& near, double* values,
                             double* errors);

}  // namespace widemargin
