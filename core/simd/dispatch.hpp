// The hot loops, compiled once per instruction set and chosen at run time.
//
// Everything here works on packed buffers. A panel holds `Width` samples feature by feature
// ([feature][Width]), so that one broadcast of a row's feature meets a full vector of columns.
#pragma once

#include <utility>

#include "common.hpp"

namespace widemargin {

template <class Real>
constexpr Size panel_width() {
  return 64 / sizeof(Real);  // 16 floats or 8 doubles: one or two vectors
}

constexpr Size kStripRows = 4;

// Dot products of dense samples are summed by blocks of features: fewer roundings lie between a
// product and the sum than there are features.
constexpr Size kDotBlock = 128;
constexpr Size dot_block(Size features, Size first) {
  return features - first < kDotBlock ? features - first : kDotBlock;
}
constexpr Size dot_blocks(Size features) {
  return (features + kDotBlock - 1) / kDotBlock;
}
constexpr Size dot_roundings(Size features) {
  return dot_block(features, 0) + (features > kDotBlock ? (features - 1) / kDotBlock : 0);
}

// Entries of kernels of differences are cut off at 2 to this power: far below the rounding of the
// sums they enter, and far enough above the least normal number that their products with weights
// are normal too. (Many processors take a hundred cycles and more for a product that is not.)
template <class Real>
constexpr double kLeastExponent = sizeof(Real) == 4 ? -60.0 : -900.0;

// Kernel entries between one strip of up to four rows and consecutive panels of columns.
template <class Real>
struct StripCall {
  KernelSpec kernel;
  Size features;
  const Real* strip;        // [features][kStripRows], or those present
  const Real* strip_norms;  // kStripRows half squared norms (Gaussian only)
  const Real* panels;       // [n_panels][features][Width]
  const Real* panel_norms;  // n_panels * Width half squared norms (Gaussian only)
  Size n_panels;
  Real* store[kStripRows];   // where to keep the entries of each row, or nullptr
  Real weights[kStripRows];  // accumulate[c] += sum_r weights[r] K[r, c]
  double* accumulate;        // n_panels * Width sums, or nullptr
  // Of a strip without the features that its rows lack: those it has, rising, and where the blocks
  // of features end among them (dot_blocks); else nullptr.
  const Index* present;
  const Index* ends;
  // Gaussian entries in double precision only: row_sums[r] += sum_c K[r, c] column_weights[c]
  const Real* column_weights;
  double* row_sums;  // kStripRows, or nullptr
};

// Kernel entries between Width scattered working rows and a list of CSR columns.
template <class Real>
struct SparseCall {
  KernelSpec kernel;
  const Real* panel;      // [slots][Width], the working rows; slot 0 is all zero when mapped
  const Index* slots;     // feature -> slot, or nullptr for the identity
  const Real* row_norms;  // Width half squared norms
  const std::int64_t* offsets;
  const Index* indices;
  const Real* data;
  const Real* norms;     // half squared norm of every CSR row
  const Index* columns;  // which CSR rows
  Size n_columns;
  Size n_rows;          // of the Width, how many count
  Real* const* store;   // n_rows destinations, each possibly nullptr; or nullptr
  const Real* weights;  // Width
  double* accumulate;   // n_columns sums, or nullptr
};

struct SparseRow {
  const Index* indices;  // rising
  const double* values;
  Size count;
};

// Kernel entries by differences between one strip of CSR rows and one CSR column, as given.
struct SparseDistanceCall {
  KernelSpec kernel;
  const Index* slots;        // feature -> slot; 0 for all that the strip lacks
  const double* strip;       // [slots][kStripRows]: the rows; slot 0 is all zero
  const Index* row_slots;    // [longest][kStripRows]: the rows again, feature by feature
  const double* row_values;  // [longest][kStripRows]; after the end of a row, zero in slot 0
  Size longest;
  double* values;  // [slots] of the column: zero before and after
  SparseRow column;
  double entries[kStripRows];
};

// The pair solver's inner loop on a working set whose kernel block is in cache.
template <class Real>
struct PairCall {
  Size size;                // padded to a multiple of panel_width<Real>()
  const Real* const* rows;  // of the members, size kernel entries each; the padding is finite
                            // a row that is nullptr is fetched when a step needs it
  const Real* diagonal;
  Real* gradient;     // moved by the solver, relative to the intercept
  Real* growth;       // one-sided slope of the kink for a growing beta; +inf at the upper bound
  Real* fall;         // and for a falling one; -inf at the lower bound
  const Real* above;  // slope of the kink at beta > 0 and at beta < 0; both are 0 where there is
  const Real* below;  // no kink
  double* beta;
  const double* lower;
  const double* upper;
  double tolerance;
  long max_steps;
  void (*fetch)(void* owner, Size member) = nullptr;  // sets rows[member]
  void* owner = nullptr;
  // With a second sum, that of |beta|: the growth and fall of members below zero, of members at or
  // above it being in the two above. A pair is of one side, and a step ends at zero.
  Real* minus_growth = nullptr;
  Real* minus_fall = nullptr;
};

// The next two are compiled with every instruction set, so each has its own copy (static).

// Where a step of a member ends at the latest: at a bound, or at its kink.
template <class Real>
static double segment_end(const PairCall<Real>& call, Size k, bool grows) {
  const double end = grows ? call.upper[k] : call.lower[k];
  if (call.above[k] == call.below[k] && call.minus_growth == nullptr) return end;
  if (grows) return call.beta[k] < 0.0 && end > 0.0 ? 0.0 : end;
  return call.beta[k] > 0.0 && end < 0.0 ? 0.0 : end;
}

// Which way a member can move from where it is, and on which side of its kink.
template <class Real>
static void note_sides(const PairCall<Real>& call, Size k) {
  const Real never = Real(kInfinity);
  const double beta = call.beta[k];
  const Real grown = beta >= 0.0 ? call.above[k] : call.below[k];
  const Real fallen = beta > 0.0 ? call.above[k] : call.below[k];
  call.growth[k] = beta < call.upper[k] ? grown : never;
  call.fall[k] = beta > call.lower[k] ? fallen : -never;
  if (call.minus_growth == nullptr) return;
  call.minus_growth[k] = beta < 0.0 ? call.growth[k] : never;
  call.minus_fall[k] = beta <= 0.0 ? call.fall[k] : -never;
  if (beta < 0.0) call.growth[k] = never;
  if (beta <= 0.0) call.fall[k] = -never;
}

// The variables of a problem in their boxes, beside its gradient there.
struct Slopes {
  const double* gradients;
  const double* betas;
  const double* lower;
  const double* upper;
  const double* kinks;
  Size count;
};
constexpr Size kSlopeBlock = 16;  // variables that are looked at together

constexpr Size kMostVectors = 4;

// A strip of rows of doubles against several vectors; of those with a place for it on both sides.
struct ProductCall {
  Size n_vectors;  // at most kMostVectors
  Size n_columns;  // a multiple of 8; weights of the padding are zero, its entries finite
  const double* rows[kStripRows];
  const double* column_weights[kMostVectors];  // n_columns
  double sums[kMostVectors][kStripRows];       // rows times column weights
  double row_weights[kMostVectors][kStripRows];
  double* transposed[kMostVectors];  // n_columns; += columns times row weights, or nullptr
};

template <class Real>
struct Routines {
  void (*strip)(const StripCall<Real>&);
  // Gaussian or Laplacian entries of a strip by differences of unscaled samples; only `store` is
  // written.
  void (*distances)(const StripCall<Real>&);
  void (*sparse)(const SparseCall<Real>&);
  void (*sparse_distances)(SparseDistanceCall&);
  // half squared norms of one panel, by the same operations in the same order as the dot tile, so
  // that a sample's distance to itself is exactly zero
  void (*panel_norms)(const Real* panel, Size features, Real* norms);
  Real (*sparse_norm)(const Real* data, Size count);
  long (*pairs)(const PairCall<Real>&);
  // target[c] += sum_r weights[r] rows[r][c]
  void (*combine)(const Real* const* rows, const double* weights, Size n_rows, Size n_columns,
                  double* target);
  // out[r] = sum_c rows[r][c] weights[c] and out[c] += sum_r weights[r] rows[r][c], of rows that
  // lie one behind the other; products and sums in double precision
  void (*times_rows)(const Real* rows, Size n_rows, Size width, const double* weights, double* out);
  void (*sum_rows)(const Real* rows, Size n_rows, Size width, const double* weights, double* out);
  void (*products)(ProductCall&);
  // to[c][r] = from[r][c], rows lying a stride apart
  void (*transposed)(const Real* from, Size from_stride, Size n_rows, Size n_columns, Real* to,
                     Size to_stride);
  // out[s] = squared distance of a point to box s; bounds are [feature][count], count a multiple of
  // 16
  void (*box_distances)(const float* point, Size features, const float* low, const float* high,
                        Size count, float* out);
  // The least slope along which a variable can grow and the largest along which one can fall, where
  // they exceed what is given.
  void (*slope_extremes)(const Slopes&, double* lowest_up, double* highest_low);
  // The first variable of the first block, of those that begin at `first`, where one can grow along
  // a slope below `growing` or fall along one above `falling`; where there is none, of the rest
  // that is no whole block.
  Size (*next_beyond)(const Slopes&, Size first, double growing, double falling);
};

// Best set for this processor; the environment variable WIDEMARGIN_TARGET, baseline or avx2, read
// once, allows no better one, for testing.
template <class Real>
const Routines<Real>& routines();

const char* target_name();

namespace baseline {
template <class Real>
const Routines<Real>& table();
}
namespace avx2 {
template <class Real>
const Routines<Real>& table();
}
namespace avx512 {
template <class Real>
const Routines<Real>& table();
}

}  // namespace widemargin
