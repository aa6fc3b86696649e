// Whole kernel rows, each over all the columns.
#pragma once

#include "kernel/row_cache.hpp"
#include "kernel/row_slots.hpp"

namespace widemargin {

template <class Real>
class WholeRowCache final : public RowCache<Real> {
 public:
  WholeRowCache(const Source& source, Size budget_bytes, WorkLog& log);

  bool has_room_for(Size rows) const override { return slots_.has_room_for(rows); }
  Size held() const override { return slots_.held(); }
  Size incomplete(const std::vector<Index>& rows) const override;
  const ByPosition<Index>& arrange(const std::vector<Index>& wanted, Team& team) override;
  void extend(const std::vector<Index>& appended, const std::vector<Index>& rows,
              const double* weights, double* gradient, Team& team) override;
  void apply(const Index* rows, const double* weights, const char* keep, Size count,
             double* gradient, Team& team) override;
  void block(const Position* positions, Size count, Size first, Size stride, Real* out,
             Team& team) override;
  std::vector<const Real*> table(Team& team) override;
  const Real* row(Index sample, Team& team) override;

 private:
  using RowCache<Real>::columns_;
  using RowCache<Real>::log_;
  using RowCache<Real>::source_;

  void set_columns(ByPosition<Index> columns);
  void release_for_table(const std::vector<Position>& kept);
  std::vector<Slot> touched_slots(const Index* rows, Size count);
  void complete(const Index* rows, const std::vector<Slot>& slots, const double* weights,
                double* gradient, Purpose purpose, Team& team);
  void add_rows(const std::vector<const Real*>& rows, const std::vector<double>& weights,
                Size width, double* gradient, Team& team);

  RowSlots<Real> slots_;
  Prepared<Real> prepared_;  // of all the columns
  bool tabled_ = false;      // the rows were last asked for as a table
};

}  // namespace widemargin
