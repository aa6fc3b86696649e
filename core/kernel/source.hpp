// Where kernel entries come from: samples and a formula, a matrix, or a function of the user's.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "common.hpp"
#include "kernel/locality.hpp"
#include "kernel/samples.hpp"
#include "kernel/strips.hpp"
#include "memory/aligned.hpp"
#include "threads/parallel.hpp"

namespace widemargin {

// Columns packed once for many sweeps. Only some sources make use of it.
template <class Real>
struct Prepared {
  Aligned<Real> panels;
  Aligned<Real> norms;
};

// Evaluate K[rows, columns]; keep the entries, or add weighted rows up, or both, in one pass.
template <class Real>
struct Sweep {
  const Index* rows;
  Size n_rows;
  const Index* columns;
  Size n_columns;
  Real* const* store = nullptr;     // n_rows destinations of n_columns entries; each may be nullptr
  const double* weights = nullptr;  // n_rows; needed with accumulate
  double* accumulate = nullptr;     // accumulate[c] += sum_r weights[r] K[rows[r], columns[c]]
  const Prepared<Real>* prepared = nullptr;  // of these columns and of the panels before them
  Size prepared_before = 0;                  // panels
  const Strips<Real>* strips = nullptr;      // these rows, packed
  double* sizes = nullptr;  // sizes[c] += sum_r |weights[r] K[rows[r], columns[c]]|, for rounding()
  // Of a local kernel (locality.hpp): the columns are in segments, the first of which began so many
  // columns before. Of each row only the near segments are evaluated, and kept where `pieces` says;
  // the others are zero. `store` is not used then.
  const std::uint64_t* const* near = nullptr;  // n_rows sets of segments
  Real* const* const* pieces = nullptr;        // n_rows x segments; each may be nullptr
  Size begun = 0;
};

// Entries between packed rows and columns, multiplied from both sides and kept nowhere.
struct PackedProducts {
  const Strips<double>& rows;
  Size n_rows;
  const Prepared<double>& columns;
  Size first_panel, n_panels;
  const double* row_weights;
  const double* column_weights;  // of the panels; zero beyond the last column
  double* row_sums;              // row_sums[r] += sum_c K[r, c] column_weights[c]
  double* column_sums;           // column_sums[c] += sum_r row_weights[r] K[r, c]
};

// The columns of a sweep that are in one of its segments.
struct SegmentColumns {
  Size first, count;
  Size before;  // columns of the segment that are not the sweep's

  template <class Real>
  SegmentColumns(const Sweep<Real>& work, Size segment)
      : first(segment == 0 ? 0 : segment * kSegment - work.begun),
        count(std::min(work.n_columns, (segment + 1) * kSegment - work.begun) - first),
        before(segment == 0 ? work.begun : 0) {}
};

// Where a row of a sweep keeps its entries of a segment: none where they are not near or not kept.
template <class Real>
Real* piece_of(const Sweep<Real>& work, Size row, Size segment, const SegmentColumns& columns) {
  if (!work.pieces || !work.pieces[row] || !work.pieces[row][segment]) return nullptr;
  return work.pieces[row][segment] + columns.before;
}

// How many of the rows from `row` on, at most `most`, are near the segment.
template <class Real>
Size near_rows(const Sweep<Real>& work, Size row, Size most, Size segment) {
  Size count = 0;
  for (Size r = row; r < row + most; ++r) count += is_near(work.near[r], segment);
  return count;
}

class Source {
 public:
  virtual ~Source() = default;
  virtual Size size() const = 0;
  virtual void diagonal(const Index* ids, Size count, double* out) const = 0;
  std::vector<double> whole_diagonal() const;
  // Returns how many entries it has evaluated: all, but where the kernel is local.
  virtual Size sweep(const Sweep<float>& work, Team& team) const = 0;
  virtual Size sweep(const Sweep<double>& work, Team& team) const = 0;
  // error[c] += a bound on what rounding has left in accumulate[c], entries and sums included: the
  // kernel is that of exact arithmetic on the samples and parameters as given (mathematics 8).
  // `sizes` of the sweep is at hand.
  virtual void rounding(const Sweep<float>& work, double* error) const = 0;
  virtual void rounding(const Sweep<double>& work, double* error) const = 0;
  virtual void prepare(const Index*, Size, Prepared<float>&) const {}
  virtual void prepare(const Index*, Size, Prepared<double>&) const {}
  // Rows packed once for many sweeps, where that is of use.
  virtual std::unique_ptr<Strips<double>> strips(const Index*, Size) const { return nullptr; }
  // Whether multiply() is there, for rows that are not evaluated by differences.
  virtual bool multiplies() const { return false; }
  virtual void multiply(const PackedProducts&) const {}
  // Size of the numbers whose rounding shows in the entries of a sample's row.
  virtual void magnitudes(const Index* ids, Size count, double* out) const {
    diagonal(ids, count, out);
  }
  // Of an entry, relative to one between samples of few features.
  virtual double entry_cost() const { return 1.0; }
  // Whether evaluating a block of entries costs less than gathering it from cached rows.
  virtual bool cheap() const { return false; }
  // Whether rounding() takes sums over rows of positive and of negative weight for `sizes`: no
  // entry is negative, or its bound needs no sizes.
  virtual bool sizes_by_sign() const { return false; }
  // Whether the kernel is known to be positive semidefinite, so that bounds by norms hold.
  virtual bool semidefinite() const { return false; }
  // Whether float entries are good to about 1e-6: false where the norm expansion loses digits.
  virtual bool single_precision_suffices() const { return true; }
  // Whether the bounds of rounding() hold as well for sums of entries K[j, i] in place of
  // K[i, j], rounded to single precision if they were.
  virtual bool mirrors() const { return false; }
  // Whether rows of this sample are evaluated by differences in double precision: rounding() counts
  // on it, so of a far and a near sample the far one must be the row.
  virtual bool by_differences(Index) const { return false; }

  // Of a local kernel, as in locality.hpp; of others the share is 1, and the rest is not called.
  virtual double near_share() const { return 1.0; }
  virtual Index place(Index sample) const { return sample; }
  virtual void enclose(const Index*, Size, Boxes&) const {}
  virtual void find_near(const Index*, Size, const Boxes&, Size, double, NearSegments&) const {}
};

// Kernel between two sets of samples (the same one, or the training and the test samples), both
// already transformed for the kernel. Rows far from the centre are evaluated by differences.
template <class Real>
Size sweep_samples(const KernelSpec& kernel, const Samples& row_samples,
                   const Samples& column_samples, const Sweep<Real>& work, Team& team);

void multiply_samples(const KernelSpec& kernel, Size features, const PackedProducts& work);

template <class Real>
void prepare_samples(const KernelSpec& kernel, const Samples& samples, const Index* columns,
                     Size count, Prepared<Real>& out);

class SampleSource final : public Source {
 public:
  SampleSource(std::unique_ptr<Samples> samples, const KernelSpec& kernel);
  Size size() const override { return samples_->size(); }
  void diagonal(const Index* ids, Size count, double* out) const override;
  Size sweep(const Sweep<float>& work, Team& team) const override;
  Size sweep(const Sweep<double>& work, Team& team) const override;
  void prepare(const Index* columns, Size count, Prepared<float>& out) const override;
  void prepare(const Index* columns, Size count, Prepared<double>& out) const override;
  std::unique_ptr<Strips<double>> strips(const Index* rows, Size count) const override;
  bool multiplies() const override {
    return kernel_.kind == KernelKind::gaussian && !samples_->sparse();
  }
  void multiply(const PackedProducts& work) const override {
    multiply_samples(kernel_, samples_->features(), work);
  }
  void rounding(const Sweep<float>& work, double* error) const override;
  void rounding(const Sweep<double>& work, double* error) const override;
  void magnitudes(const Index* ids, Size count, double* out) const override;
  double entry_cost() const override { return samples_->entry_cost(); }
  bool cheap() const override { return entry_cost() < kGatherCost; }
  bool sizes_by_sign() const override { return true; }
  bool semidefinite() const override;
  bool single_precision_suffices() const override;
  bool mirrors() const override;
  bool by_differences(Index id) const override;
  double near_share() const override { return locality() ? locality()->near_share() : 1.0; }
  Index place(Index sample) const override { return locality()->place(sample); }
  void enclose(const Index* columns, Size count, Boxes& out) const override {
    locality()->enclose(columns, count, out);
  }
  void find_near(const Index* rows, Size n_rows, const Boxes& boxes, Size first, double negligible,
                 NearSegments& out) const override {
    locality()->find_near(rows, n_rows, boxes, first, negligible, out);
  }

  const Samples& samples() const { return *samples_; }
  const KernelSpec& kernel() const { return kernel_; }

 private:
  static constexpr double kGatherCost =
      6.0;  // of an entry that is taken from a cached row: a cache miss

  const Locality* locality() const;  // none where the kernel is not local
  template <class Real>
  Size sweep_any(const Sweep<Real>& work, Team& team) const;
  template <class Real>
  void rounding_of(const Sweep<Real>& work, double* error) const;

  std::unique_ptr<Samples> samples_;
  KernelSpec kernel_;
  mutable std::once_flag located_;
  mutable std::unique_ptr<const Locality> locality_;
};

// A given matrix, row-major; possibly memory-mapped, so only asked-for entries are touched.
template <class Value>
class MatrixSource final : public Source {
 public:
  MatrixSource(const Value* matrix, Size n) : matrix_(matrix), n_(n) {}
  Size size() const override { return n_; }
  void diagonal(const Index* ids, Size count, double* out) const override;
  Size sweep(const Sweep<float>& work, Team& team) const override;
  Size sweep(const Sweep<double>& work, Team& team) const override;
  void rounding(const Sweep<float>& work, double* error) const override;
  void rounding(const Sweep<double>& work, double* error) const override;

 private:
  const Value* matrix_;
  Size n_;
};

// Some of the samples of another source, renumbered 0, 1, ...: a view, nothing is copied.
class SubsetSource final : public Source {
 public:
  SubsetSource(std::shared_ptr<const Source> base, std::vector<Index> ids)
      : base_(std::move(base)), ids_(std::move(ids)) {}
  Size size() const override { return ids_.size(); }
  void diagonal(const Index* ids, Size count, double* out) const override;
  Size sweep(const Sweep<float>& work, Team& team) const override;
  Size sweep(const Sweep<double>& work, Team& team) const override;
  void prepare(const Index* columns, Size count, Prepared<float>& out) const override;
  void prepare(const Index* columns, Size count, Prepared<double>& out) const override;
  std::unique_ptr<Strips<double>> strips(const Index* rows, Size count) const override;
  bool multiplies() const override { return base_->multiplies(); }
  void multiply(const PackedProducts& work) const override { base_->multiply(work); }
  void rounding(const Sweep<float>& work, double* error) const override;
  void rounding(const Sweep<double>& work, double* error) const override;
  void magnitudes(const Index* ids, Size count, double* out) const override {
    base_->magnitudes(map(ids, count).data(), count, out);
  }
  double entry_cost() const override { return base_->entry_cost(); }
  bool cheap() const override { return base_->cheap(); }
  bool sizes_by_sign() const override { return base_->sizes_by_sign(); }
  bool semidefinite() const override { return base_->semidefinite(); }
  bool single_precision_suffices() const override { return base_->single_precision_suffices(); }
  bool mirrors() const override { return base_->mirrors(); }
  bool by_differences(Index id) const override { return base_->by_differences(ids_[Size(id)]); }
  double near_share() const override { return base_->near_share(); }
  Index place(Index sample) const override { return base_->place(ids_[Size(sample)]); }
  void enclose(const Index* columns, Size count, Boxes& out) const override {
    base_->enclose(map(columns, count).data(), count, out);
  }
  void find_near(const Index* rows, Size n_rows, const Boxes& boxes, Size first, double negligible,
                 NearSegments& out) const override {
    base_->find_near(map(rows, n_rows).data(), n_rows, boxes, first, negligible, out);
  }

 private:
  std::vector<Index> map(const Index* ids, Size count) const;
  // Calls `use` with the same sweep over the samples of the base.
  template <class Real, class Use>
  auto in_base(const Sweep<Real>& work, const Use& use) const;

  std::shared_ptr<const Source> base_;
  std::vector<Index> ids_;
};

// fill(rows, n_rows, columns, n_columns, out): out is row-major n_rows x n_columns
using FillFunction = std::function<void(const Index*, Size, const Index*, Size, double*)>;

class CallbackSource final : public Source {
 public:
  CallbackSource(FillFunction fill, Size n) : fill_(std::move(fill)), n_(n) {}
  Size size() const override { return n_; }
  double entry_cost() const override { return 8.0; }  // a guess: the function is the user's
  void diagonal(const Index* ids, Size count, double* out) const override;
  Size sweep(const Sweep<float>& work, Team& team) const override;
  Size sweep(const Sweep<double>& work, Team& team) const override;
  void rounding(const Sweep<float>& work, double* error) const override;
  void rounding(const Sweep<double>& work, double* error) const override;

 private:
  FillFunction fill_;
  Size n_;
};

}  // namespace widemargin
