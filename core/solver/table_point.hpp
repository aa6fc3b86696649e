// A point over a kernel table.
#pragma once

#include "kernel/kernel_table.hpp"
#include "solver/matrix_point.hpp"

namespace widemargin {

class TablePoint : public MatrixPoint<float> {
 public:
  TablePoint(const KernelTable& table, const MatrixProblem& problem, double* beta,
             bool from_vertex = false)
      : MatrixPoint<float>(table.rows(), problem, beta, {}, from_vertex), table_(table) {}

  const KernelTable& table() const { return table_; }

 private:
  const KernelTable& table_;
};

}  // namespace widemargin
