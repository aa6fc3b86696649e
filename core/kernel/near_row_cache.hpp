// Rows of a local kernel: only their near segments are evaluated, kept and added up.
#pragma once

#include <array>

#include "kernel/near_rows.hpp"
#include "kernel/row_cache.hpp"
#include "memory/aligned.hpp"

namespace widemargin {

// Columns that come together are put in the order of their places, so that segments are small in
// space.
template <class Real>
class NearRowCache final : public RowCache<Real> {
 public:
  NearRowCache(const Source& source, Size budget_bytes, WorkLog& log);

  bool local() const override { return true; }
  bool has_room_for(Size rows) const override;
  Size held() const override { return rows_.held(); }
  Size incomplete(const std::vector<Index>& rows) const override;
  const ByPosition<Index>& arrange(const std::vector<Index>& wanted, Team& team) override;
  void extend(const std::vector<Index>& appended, const std::vector<Index>& rows,
              const double* weights, double* gradient, Team& team) override;
  void apply(const Index* rows, const double* weights, const char* keep, Size count,
             double* gradient, Team& team) override;
  // Evaluated: entries that are not zero are few.
  void block(const Position* positions, Size count, Size first, Size stride, Real* out,
             Team& team) override;
  std::vector<const Real*> table(Team& team) override;
  const Real* row(Index sample, Team& team) override;

 private:
  using RowCache<Real>::columns_;
  using RowCache<Real>::log_;
  using RowCache<Real>::source_;
  using Rows = NearRows<Real>;

  // A row of a sum: its number among those kept, or none.
  struct Term {
    Index sample, place, row;
    double weight;
  };

  void set_columns(ByPosition<Index> columns);
  std::vector<Term> terms(const Index* rows, const double* weights, Size count);
  void evaluate(std::vector<Term> members, Size known, double* gradient, Purpose purpose,
                Team& team);
  void complete(const std::vector<Term>& all, double* gradient, Team& team);
  void add_rows(std::vector<Term> rows, Size width, double* gradient, Team& team);
  void sort_by_place(std::vector<Term>& rows) const;

  Size budget_;
  Rows rows_;
  Boxes boxes_;
  Prepared<Real> prepared_;  // of all the columns
  Aligned<Real> table_;
  std::array<std::vector<Real>, 2> whole_;  // rows that were asked for, in turn
  Size next_ = 0;
};

}  // namespace widemargin
