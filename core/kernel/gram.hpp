// Samples, kernel, row cache, memory budget and threads: the label-free handle that outlives a
// solve.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "kernel/row_cache.hpp"
#include "kernel/source.hpp"
#include "kernel/work_log.hpp"

namespace widemargin {

class Gram {
 public:
  Gram(std::shared_ptr<const Source> source, Size budget_bytes, int threads)
      : source_(std::move(source)), budget_(budget_bytes), threads_(threads) {}

  Size size() const { return source_->size(); }
  int threads() const { return threads_; }
  WorkLog& log() { return log_; }
  const WorkLog& log() const { return log_; }
  const Source& source() const { return *source_; }

  std::shared_ptr<Gram> subset(std::vector<Index> ids, Size budget_bytes, int threads) const {
    return std::make_shared<Gram>(std::make_shared<SubsetSource>(source_, std::move(ids)),
                                  budget_bytes, threads);
  }

  template <class Real>
  RowCache<Real>& cache();

  // out is row-major, n_rows x n_columns
  template <class Real>
  void rows(const Index* rows, Size n_rows, const Index* columns, Size n_columns, Real* out);

  // out[c] = sum_k weights[k] K[rows[k], columns[c]], entries in the given precision
  template <class Real>
  void times(const Index* rows, const double* weights, Size n_rows, const Index* columns,
             Size n_columns, double* out);

  // out[v][c] = sum_k weights[v][k] K[rows[k], columns[c]] for several vectors: each entry is
  // evaluated once.
  template <class Real>
  void several_times(const Index* rows, Size n_rows, const double* weights, Size n_vectors,
                     const Index* columns, Size n_columns, double* out);

  // The product with one vector, with bounds on the rounding in error.
  template <class Real>
  void bounded_times(const Index* rows, const double* weights, Size n_rows, const Index* columns,
                     Size n_columns, double* out, double* error);

  // out[c] += sum_k weights[k] K[rows[k], c] over all samples c, in single precision; rows that a
  // solve has left in the cache are not evaluated again.
  void add_rows(const Index* rows, const double* weights, Size n_rows, double* out);

  // Gives the memory of the cached rows back.
  void release() {
    std::lock_guard<std::mutex> lock(busy_);
    cache32_.reset();
    cache64_.reset();
  }

  // A solve uses the cache exclusively; a second one on the same handle waits.
  std::mutex& busy() { return busy_; }

 private:
  std::shared_ptr<const Source> source_;
  Size budget_;
  int threads_;
  WorkLog log_;
  std::unique_ptr<RowCache<float>> cache32_;
  std::unique_ptr<RowCache<double>> cache64_;
  std::mutex busy_;
};

}  // namespace widemargin
