// Kernel rows over an ordered list of columns, kept within a memory budget.
#pragma once

#include <vector>

#include "kernel/position.hpp"
#include "kernel/row_slots.hpp"
#include "kernel/source.hpp"
#include "kernel/work_log.hpp"

namespace widemargin {

// Columns may be appended (cached rows are extended when next used, not evaluated again) and
// dropped (cached rows are compacted). Rows leave in order of last use.
template <class Real>
class RowCache {
 public:
  RowCache(const Source& source, Size budget_bytes, WorkLog& log);

  const ByPosition<Index>& columns() const { return columns_; }
  double entry_cost() const { return source_.entry_cost(); }
  // Whether that many rows over all samples can be kept.
  bool has_room_for(Size rows) const { return slots_.has_room_for(rows); }
  Size held() const { return slots_.held(); }             // rows
  Size incomplete(const std::vector<Index>& rows) const;  // how many of them

  // Makes `wanted` (a set of samples) the columns: those present keep their order, the others
  // are appended. Returns the new order.
  const ByPosition<Index>& arrange(const std::vector<Index>& wanted, Team& team);

  // Appends samples to the columns and completes the given cached rows, no others are kept:
  // gradient[c] += sum_k weights[k] K[rows[k], columns[c]] for the new columns c.
  void extend(const std::vector<Index>& appended, const std::vector<Index>& rows,
              const double* weights, double* gradient, Team& team);

  // gradient[c] += sum_k weights[k] K[rows[k], columns[c]]. Missing rows are evaluated; those with
  // keep[k] are stored where the budget allows.
  void apply(const Index* rows, const double* weights, const char* keep, Size count,
             double* gradient, Team& team);

  // out[a * stride + b] = K[columns[positions[a]], columns[positions[b]]] for first <= a < count
  void block(const Position* positions, Size count, Size first, Size stride, Real* out, Team& team);

  // The complete rows of all the columns, in their order and padded with zeros to whole panels;
  // nothing where the budget is too small. They stay valid until rows are arranged or others are
  // asked for.
  std::vector<const Real*> table(Team& team);

  // Complete row of a sample, evaluated if need be; valid until the next call.
  const Real* row(Index sample, Team& team);

 private:
  void set_columns(ByPosition<Index> columns);
  std::vector<Slot> touched_slots(const Index* rows, Size count);
  void complete(const Index* rows, const std::vector<Slot>& slots, const double* weights,
                double* gradient, Purpose purpose, Team& team);
  void add_rows(const std::vector<const Real*>& rows, const std::vector<double>& weights,
                Size width, double* gradient, Team& team);

  const Source& source_;
  WorkLog& log_;
  RowSlots<Real> slots_;
  ByPosition<Index> columns_;
  Prepared<Real> prepared_;  // of all the columns
};

}  // namespace widemargin
