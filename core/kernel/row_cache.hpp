// Kernel rows over an ordered list of columns, kept within a memory budget.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "kernel/slab.hpp"
#include "kernel/source.hpp"

namespace widemargin {

// Columns may be appended (cached rows are extended when next used, not evaluated again) and
// dropped (cached rows are compacted). Rows leave in order of last use.
template <class Real>
class RowCache {
 public:
  RowCache(const Source& source, Size budget_bytes, std::atomic<std::uint64_t>& evaluated);

  const std::vector<Index>& columns() const { return columns_; }
  double entry_cost() const { return source_.entry_cost(); }
  // Whether that many rows over all samples can be kept.
  bool has_room_for(Size rows) const { return rows * source_.size() * sizeof(Real) <= budget_; }

  Size held() const { return slots_.size() - free_.size(); }  // rows

  // Makes `wanted` (a set of samples) the columns: those present keep their order, the others
  // are appended. Returns the new order.
  const std::vector<Index>& arrange(const std::vector<Index>& wanted, Team& team);

  // gradient[c] += sum_k weights[k] K[rows[k], columns[c]]. Missing rows are evaluated; those with
  // keep[k] are stored where the budget allows.
  void apply(const Index* rows, const double* weights, const char* keep, Size count,
             double* gradient, Team& team);

  // out[a * stride + b] = K[columns[positions[a]], columns[positions[b]]] for first <= a < count
  void block(const Index* positions, Size count, Size first, Size stride, Real* out, Team& team);

  // The complete rows of all the columns, in their order and padded with zeros to whole panels;
  // nothing where the budget is too small. They stay valid until rows are arranged or others are
  // asked for.
  std::vector<const Real*> table(Team& team);

  // Complete row of a sample, evaluated if need be; valid until the next call.
  const Real* row(Index sample, Team& team);

 private:
  struct Slot {
    Index sample = -1;
    Size valid = 0;  // entries known, a prefix of the columns
    Index newer = -1, older = -1;
  };

  Real* entries(Index slot) const { return memory_ + Size(slot) * capacity_; }
  Index slot_of(Index sample) const { return slots_of_[Size(sample)]; }
  Index take(Index sample, std::uint64_t keep_from);  // a slot for the sample, or -1
  void touch(Index slot);
  void unlink(Index slot);
  void release(Index slot);
  void layout(Size columns);
  void keep(const std::vector<Index>& positions, Team& team);
  void complete(const Index* rows, const std::vector<Index>& slots, const double* weights,
                double* gradient, Team& team);

  const Source& source_;
  Size budget_;
  std::atomic<std::uint64_t>& evaluated_;
  std::vector<Index> columns_;
  Prepared<Real> prepared_;      // of all the columns
  std::vector<Index> slots_of_;  // sample -> slot
  std::vector<Slot> slots_;
  std::vector<std::uint64_t> stamp_;
  std::vector<Index> free_;
  Index newest_ = -1, oldest_ = -1;
  std::uint64_t clock_ = 0;
  std::unique_ptr<Slab> slab_;
  Real* memory_ = nullptr;
  Size capacity_ = 0;  // entries per slot
  Size slot_limit_ = 0;
};

}  // namespace widemargin
