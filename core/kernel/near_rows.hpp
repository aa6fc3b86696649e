// Where the near segments of kernel rows are kept: pieces of one block of memory.
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "kernel/locality.hpp"
#include "kernel/position.hpp"
#include "memory/slab.hpp"

namespace widemargin {

// A row knows a prefix of the columns; a segment without a piece is zero there. Rows leave in order
// of last use, but never those used since begin_use().
template <class Real>
class NearRows {
 public:
  NearRows(Size samples, Size budget_bytes);

  struct Row {
    Index sample = -1;  // none: the row is free
    Size known = 0;     // columns
    std::uint64_t last_use = 0;
    std::vector<Index> segments;  // that are not zero, rising
    std::vector<Index> pieces;    // where they are kept
  };
  static constexpr Index kNone = -1;

  Size held() const { return rows_.size() - free_rows_.size(); }
  // Near segments of so many columns in all, beside the lists of them.
  bool has_room_for(double columns) const {
    return columns * double(sizeof(Real)) <= double(slab_->bytes());
  }

  Index find(Index sample) const { return numbers_[Size(sample)]; }  // kNone where there is none
  const Row& operator[](Index row) const { return rows_[Size(row)]; }
  Real* entries(Index piece) const { return memory_ + Size(piece) * kSegment; }

  void begin_use() { ++clock_; }
  void touch(Index row) { rows_[Size(row)].last_use = clock_; }
  Index add(Index sample);  // a row that knows nothing yet
  void release(Index row);
  void release_unused();  // all rows that were not used since begin_use()

  // Extends the row to `columns` columns: adds pieces for the `near` segments from `first` on.
  // False where memory does not suffice; the row is released then. Where a segment was known in
  // part, the known part of its new piece is zero.
  bool complete(Index row, Size columns, Size first, const std::uint64_t* near);
  // Keeps of every row the entries at these increasing positions.
  void keep(const std::vector<Position>& positions);
  // out[c] = entry c of the row
  void expand(Index row, Real* out) const;

 private:
  bool make_room(Size pieces);
  Index take();
  void keep_of(Row& row, const std::vector<Position>& positions, const std::vector<Size>& starts,
               Size unmoved);

  std::vector<Index> numbers_;  // by sample
  std::vector<Row> rows_;
  std::vector<Index> free_rows_;
  std::uint64_t clock_ = 0;
  std::unique_ptr<Slab> slab_;
  Real* memory_;
  Size capacity_, used_ = 0;  // pieces: that fit, that ever were in use
  std::vector<Index> free_;
};

}  // namespace widemargin
