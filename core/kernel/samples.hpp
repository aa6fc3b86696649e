// The samples: where dense and CSR meet, below the kernels.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "common.hpp"
#include "memory/aligned.hpp"
#include "simd/dispatch.hpp"

namespace widemargin {

// Views the caller's arrays (which must outlive it) and hands out packed pieces of them. A shift
// and a scale are applied while packing: for the Gaussian kernel the samples are centred (the
// norm expansion loses digits otherwise) and multiplied by sqrt(2 gamma log2 e).
class Samples {
 public:
  Samples(const float* dense, Size n, Size features);
  Samples(const double* dense, Size n, Size features);
  Samples(const float* data, const Index* indices, const std::int64_t* offsets, Size n,
          Size features);
  Samples(const double* data, const Index* indices, const std::int64_t* offsets, Size n,
          Size features);

  Size size() const { return n_; }
  Size features() const { return features_; }
  bool sparse() const { return offsets_ != nullptr; }

  // Of a kernel entry, relative to one between samples of few features.
  double entry_cost() const;

  // Of a dot product: the features, or the values of the fullest sparse row.
  Size most_terms() const { return most_terms_; }
  // Between a product and the dot product it enters.
  Size most_roundings() const { return sparse() ? most_terms_ : dot_roundings(features_); }
  // Of each feature over evenly spaced samples: a lone far sample does not move it. Dense only.
  std::vector<double> median() const;
  void transform(std::vector<double> shift, double scale);
  double scale() const { return scale_; }
  const std::vector<double>& shift() const { return shift_; }

  // One transformed feature of a sample. Dense only.
  float coordinate(Index id, Size feature) const;

  // out[k * width + c] = feature k of sample ids[c], c < count; zero for count <= c < width
  template <class Real>
  void pack(const Index* ids, Size count, Size width, Real* out) const;
  // Asks memory for samples that are packed soon: scattered ones come from far away.
  template <class Real>
  void fetch_ahead(const Index* ids, Size count) const;
  // pack() with the samples as they were given, neither shifted nor scaled. Dense only.
  void pack_given(const Index* ids, Size count, Size width, double* out) const;
  // The same of sparse samples: views, of `values` where these were not given as doubles.
  std::vector<SparseRow> given_rows(const Index* ids, Size count,
                                    std::vector<double>& values) const;

  // half squared norms of all transformed samples, computed as the tiles compute dot products
  template <class Real>
  const Real* half_norms() const;

  template <class Real>
  struct Rows {
    const std::int64_t* offsets;
    const Index* indices;
    const Real* data;
  };
  template <class Real>
  Rows<Real> rows() const;  // sparse only; values still to be multiplied by `scale_left`
  template <class Real>
  double scale_left() const;  // sparse only: 1 where `rows` has a scaled copy of the values

  // scatters sparse rows, scaled and multiplied by `factor`; returns the slots used. With `slots`
  // (size features, all zero) features are renumbered from 1 in order of appearance; slot 0 stays
  // zero.
  template <class Real>
  Size scatter(const Index* ids, Size count, Size width, double factor, Index* slots,
               std::vector<Real>& out) const;

 private:
  template <class Real>
  struct Lazy {
    std::once_flag norms_once, data_once;
    Aligned<Real> norms, data;  // data: transformed dense samples, or scaled CSR values
  };
  template <class Real>
  Lazy<Real>& lazy() const;
  template <class Real>
  const Real* transformed() const;  // dense only; nullptr where a copy would be too large to keep
  template <class Real>
  void copy_row(Size i, Real* out) const;  // dense only: a sample, transformed

  void count_terms();

  Size n_, features_, most_terms_;
  const float* dense32_ = nullptr;
  const double* dense64_ = nullptr;
  const float* data32_ = nullptr;
  const double* data64_ = nullptr;
  const Index* indices_ = nullptr;
  const std::int64_t* offsets_ = nullptr;
  std::vector<double> shift_;
  double scale_ = 1.0;
  std::unique_ptr<Lazy<float>> lazy32_ = std::make_unique<Lazy<float>>();
  std::unique_ptr<Lazy<double>> lazy64_ = std::make_unique<Lazy<double>>();
};

}  // namespace widemargin
