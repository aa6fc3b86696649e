// Rows of a kernel matrix in pieces, each evaluated once by the first of many problems that needs
// it and kept for as long as another will.
//
// Samples stand in segments, those with the same problems together (a class, of pairs of classes).
// A piece is the row of a sample over the columns of one segment. Problems over the segments a and
// b share the pieces of a's rows over a with all problems over a, while those over b are theirs
// alone and make room for the next problem's as soon as they end: memory is that of one cache.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "kernel/gram.hpp"
#include "kernel/matrix_rows.hpp"
#include "memory/slab.hpp"

namespace widemargin {

class RowPieces final : public MatrixRows<float> {
 public:
  // `starts` are the first columns of the segments, from 0; `capacity` the most pieces that are
  // there at a time, over the longest segment each.
  RowPieces(Gram& gram, std::vector<Size> starts, Size capacity,
            const std::vector<double>& diagonal);

  Size count() const { return starts_.size() - 1; }  // of segments
  bool whole() const override { return false; }
  Size room(Size) const override { return 0; }
  Size segment(Size column) const override { return segments_[column]; }
  const float* at(Index row, Size column) const override {
    const Size s = segments_[column];
    return slot(row, s).load(std::memory_order_acquire) + (column - starts_[s]);
  }
  void gather(Index row, const Index* columns, Size count, float* out) const override;
  float diagonal(Index row) const override { return float(diagonal_[Size(row)]); }
  Size together() const override { return together_; }
  // Called by several threads at a time, each for a problem of its own. A piece that another is
  // evaluating is waited for, and evaluated here where that thread failed. Entries do not depend
  // on the thread, nor on the rows beside them.
  void provide(const std::vector<Index>& rows, const std::vector<Size>& segments) override;

  // A problem over these segments will come; it has ended. Pieces that none will need are given up.
  void expect(const std::vector<Size>& segments);
  void release(const std::vector<Size>& segments);

 private:
  using Slot = std::atomic<float*>;

  Slot& slot(Index row, Size s) const { return slots_[Size(row) * count() + s]; }
  std::vector<Index> claim(const std::vector<Index>& rows, Size s);
  std::vector<float*> take(Size pieces);
  void evaluate(const std::vector<Index>& rows, Size s);
  void fill(const std::vector<Index>& rows, Size s, const std::vector<float*>& store);
  void give_up(const std::vector<Index>& rows, Size s, const std::vector<float*>& store);

  Gram& gram_;
  std::vector<Size> starts_;  // and the end of the last
  std::vector<Index> segments_;
  const std::vector<double>& diagonal_;
  Size length_;  // of a piece, at most
  Size together_;
  std::vector<Prepared<float>> columns_;
  Slab slab_;
  std::unique_ptr<Slot[]> slots_;
  float pending_ = 0.0f;  // its address is in the slots of pieces that are being evaluated
  std::mutex mutex_;      // of what follows
  std::condition_variable evaluated_;
  Size used_ = 0;  // pieces of the slab that ever were
  std::vector<float*> free_;
  std::vector<Size> users_;  // problems to come, of rows of one segment over another
};

}  // namespace widemargin
