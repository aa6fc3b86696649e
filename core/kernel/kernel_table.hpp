// The whole kernel matrix of few samples in single precision, evaluated once: what many small
// problems over the same samples share.
#pragma once

#include <memory>
#include <vector>

#include "kernel/gram.hpp"
#include "kernel/slab.hpp"

namespace widemargin {

class KernelTable {
 public:
  // Evaluates all entries, by symmetry where that keeps the bounds on their rounding.
  explicit KernelTable(std::shared_ptr<Gram> gram);

  Size size() const { return n_; }
  Size stride() const { return stride_; }
  Gram& gram() const { return *gram_; }
  const float* row(Index sample) const { return entries_ + Size(sample) * stride_; }
  // Whether bounds on rounding hold for sums of these entries: see Source::mirrors.
  bool mirrors() const { return mirrors_; }
  double diagonal(Index sample) const { return diagonal_[Size(sample)]; }

 private:
  void evaluate(Size first, Size count, Size from, Team& team);
  void mirror(Size first, Size count, Team& team);

  std::shared_ptr<Gram> gram_;
  Size n_, stride_;
  bool mirrors_;
  Slab slab_;
  float* entries_;
  std::vector<double> diagonal_;
};

}  // namespace widemargin
