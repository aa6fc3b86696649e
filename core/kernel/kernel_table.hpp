// A kernel matrix in single precision, evaluated once: what many small problems over the same
// samples share. Of few samples it is evaluated as a whole, of more by rows that problems need.
#pragma once

#include <memory>
#include <vector>

#include "kernel/gram.hpp"
#include "kernel/row_pieces.hpp"
#include "memory/slab.hpp"

namespace widemargin {

class KernelTable {
 public:
  // Evaluates all entries, by symmetry where that keeps the bounds on their rounding.
  explicit KernelTable(std::shared_ptr<Gram> gram);
  // Evaluates nothing yet: see RowPieces.
  KernelTable(std::shared_ptr<Gram> gram, std::vector<Size> starts, Size capacity);

  Size size() const { return n_; }
  Gram& gram() const { return *gram_; }
  MatrixRows<float>& rows() const { return *rows_; }
  // The rows, where they are evaluated as they are needed, else nullptr.
  RowPieces* pieces() const { return pieces_; }
  // Whether bounds on rounding hold for sums of these entries: see Source::mirrors.
  bool mirrors() const { return mirrors_; }
  double diagonal(Index sample) const { return diagonal_[Size(sample)]; }

 private:
  KernelTable(std::shared_ptr<Gram> gram, Size bytes);

  std::shared_ptr<Gram> gram_;
  Size n_, stride_;
  bool mirrors_;
  std::vector<double> diagonal_;
  Slab slab_;
  float* entries_;
  std::unique_ptr<MatrixRows<float>> rows_;
  RowPieces* pieces_ = nullptr;
};

}  // namespace widemargin
