// Rows of a symmetric matrix: all in memory, or evaluated when they are needed.
//
// Columns fall into segments, one behind the other; a row is contiguous within each.
#pragma once

#include <vector>

#include "common.hpp"

namespace widemargin {

template <class Real>
class MatrixRows {
 public:
  virtual ~MatrixRows() = default;

  // Whether all rows are there, each in one segment.
  virtual bool whole() const = 0;
  virtual Size segment(Size column) const = 0;
  // An entry of a row that is there, and behind it those up to the end of the column's segment.
  virtual const Real* at(Index row, Size column) const = 0;
  // How many finite numbers lie there in one piece, in every row.
  virtual Size room(Size column) const = 0;
  // Entries of a row that is there at any columns.
  virtual void gather(Index row, const Index* columns, Size count, Real* out) const = 0;
  virtual Real diagonal(Index row) const = 0;
  // How many rows take about as long as one to be made available.
  virtual Size together() const = 0;
  // Makes rows available, in some segments.
  virtual void provide(const std::vector<Index>& rows, const std::vector<Size>& segments) = 0;
};

// A matrix in memory.
template <class Real>
class WholeMatrix final : public MatrixRows<Real> {
 public:
  WholeMatrix(const Real* entries, Size stride) : entries_(entries), stride_(stride) {}

  bool whole() const override { return true; }
  Size segment(Size) const override { return 0; }
  const Real* at(Index row, Size column) const override {
    return entries_ + Size(row) * stride_ + column;
  }
  Size room(Size column) const override { return stride_ - column; }
  void gather(Index row, const Index* columns, Size count, Real* out) const override {
    const Real* from = at(row, 0);
    for (Size c = 0; c < count; ++c) out[c] = from[columns[c]];
  }
  Real diagonal(Index row) const override { return *at(row, Size(row)); }
  Size together() const override { return 1; }
  void provide(const std::vector<Index>&, const std::vector<Size>&) override {}

 private:
  const Real* entries_;
  Size stride_;
};

}  // namespace widemargin
