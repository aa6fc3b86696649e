// Kernel rows over an ordered list of columns, kept within a memory budget.
#pragma once

#include <memory>
#include <vector>

#include "kernel/position.hpp"
#include "kernel/source.hpp"
#include "kernel/work_log.hpp"

namespace widemargin {

// Columns may be appended (cached rows are extended when next used, not evaluated again) and
// dropped (cached rows are compacted). Rows leave in order of last use.
template <class Real>
class RowCache {
 public:
  RowCache(const Source& source, WorkLog& log) : source_(source), log_(log) {}
  virtual ~RowCache() = default;
  RowCache(const RowCache&) = delete;
  RowCache& operator=(const RowCache&) = delete;

  const ByPosition<Index>& columns() const { return columns_; }
  // Of an entry, those that a local kernel leaves out among them.
  double entry_cost() const { return source_.entry_cost(); }
  // Whether the kernel is local: rows over all samples are short.
  virtual bool local() const { return false; }
  // Whether that many rows over all samples can be kept.
  virtual bool has_room_for(Size rows) const = 0;
  virtual Size held() const = 0;                                      // rows
  virtual Size incomplete(const std::vector<Index>& rows) const = 0;  // how many of them

  // Makes `wanted` (a set of samples) the columns: those present keep their order, the others
  // are appended. Returns the new order.
  virtual const ByPosition<Index>& arrange(const std::vector<Index>& wanted, Team& team) = 0;

  // Appends samples to the columns and completes the given cached rows, no others are kept:
  // gradient[c] += sum_k weights[k] K[rows[k], columns[c]] for the new columns c.
  virtual void extend(const std::vector<Index>& appended, const std::vector<Index>& rows,
                      const double* weights, double* gradient, Team& team) = 0;

  // gradient[c] += sum_k weights[k] K[rows[k], columns[c]]. Missing rows are evaluated; those with
  // keep[k] are stored where the budget allows.
  virtual void apply(const Index* rows, const double* weights, const char* keep, Size count,
                     double* gradient, Team& team) = 0;

  // out[a * stride + b] = K[columns[positions[a]], columns[positions[b]]] for first <= a < count
  virtual void block(const Position* positions, Size count, Size first, Size stride, Real* out,
                     Team& team) = 0;

  // The complete rows of all the columns, in their order and padded with zeros to whole panels;
  // nothing where the budget is too small. They stay valid until rows are arranged or others are
  // asked for.
  virtual std::vector<const Real*> table(Team& team) = 0;

  // Complete row of a sample, evaluated if need be; valid until the second next call.
  virtual const Real* row(Index sample, Team& team) = 0;

 protected:
  // Which of the wanted columns are there, by position, and the new order: these, then the others
  // as they are given.
  struct Arrangement {
    std::vector<Position> kept;
    ByPosition<Index> columns;
  };
  Arrangement arrangement(const std::vector<Index>& wanted) const;

  const Source& source_;
  WorkLog& log_;
  ByPosition<Index> columns_;
};

// Makes a cache of whole rows or, where the kernel is local, of their near segments.
template <class Real>
std::unique_ptr<RowCache<Real>> make_row_cache(const Source& source, Size budget_bytes,
                                               WorkLog& log);

}  // namespace widemargin
