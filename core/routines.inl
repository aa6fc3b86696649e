// The hot loops, written once with compiler vectors and compiled per instruction set.

#include "dispatch.hpp"

namespace widemargin {
namespace WIDEMARGIN_TARGET_NAMESPACE {
namespace {

typedef float FloatVector __attribute__((vector_size(32)));
typedef double DoubleVector __attribute__((vector_size(32)));
typedef std::int32_t Int32Vector __attribute__((vector_size(32)));
typedef std::int64_t Int64Vector __attribute__((vector_size(32)));
typedef double WideVector __attribute__((vector_size(64)));

// What differs between float and double: the vector, its integer twin, and exp2.
template <class Real>
struct Lanes;

template <>
struct Lanes<float> {
  typedef FloatVector Vector;
  typedef Int32Vector Bits;
  typedef std::int32_t Int;
  static constexpr int kShift = 23;
  static constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  static constexpr float kFloor = -125.0f;
  static Vector polynomial(Vector f) {  // 2^f on [-1/2, 1/2], relative error 1.7e-7 (Cephes)
    Vector p = 1.535336188319500e-4f * f + 1.339887440266574e-3f;
    p = p * f + 9.618437357674640e-3f;
    p = p * f + 5.550332471162809e-2f;
    p = p * f + 2.402264791363012e-1f;
    p = p * f + 6.931472028550421e-1f;
    return p * f + 1.0f;
  }
};

template <>
struct Lanes<double> {
  typedef DoubleVector Vector;
  typedef Int64Vector Bits;
  typedef std::int64_t Int;
  static constexpr int kShift = 52;
  static constexpr double kMagic = 6755399441055744.0;  // 1.5 * 2^52
  static constexpr double kFloor = -1021.0;
  static Vector polynomial(Vector f) {  // Taylor to degree 13: relative error 1e-16
    Vector p = 1.3691488853904128880e-12 * f + 2.5678435993488205141e-11;
    p = p * f + 4.4455382718708114976e-10;
    p = p * f + 7.0549116208011233299e-9;
    p = p * f + 1.0178086009239699728e-7;
    p = p * f + 1.3215486790144309489e-6;
    p = p * f + 1.5252733804059840280e-5;
    p = p * f + 1.5403530393381609954e-4;
    p = p * f + 1.3333558146428443423e-3;
    p = p * f + 9.6181291076284771620e-3;
    p = p * f + 5.5504108664821579953e-2;
    p = p * f + 2.4022650695910071233e-1;
    p = p * f + 6.9314718055994530942e-1;
    return p * f + 1.0;
  }
};

template <class Real>
inline typename Lanes<Real>::Vector splat(Real value) {
  return value - typename Lanes<Real>::Vector{};
}

template <class Real>
inline typename Lanes<Real>::Vector load(const Real* from) {
  typename Lanes<Real>::Vector out;
  __builtin_memcpy(&out, from, sizeof(out));
  return out;
}

template <class Real>
inline void save(Real* to, typename Lanes<Real>::Vector value) {
  __builtin_memcpy(to, &value, sizeof(value));
}

// 2^x for x <= 0; exactly 1 at 0.
template <class Real>
inline typename Lanes<Real>::Vector exp2_negative(typename Lanes<Real>::Vector x) {
  using L = Lanes<Real>;
  using Vector = typename L::Vector;
  using Bits = typename L::Bits;
  const Vector zero = Vector{};
  x = x > zero ? zero : x;
  const Vector least = splat<Real>(L::kFloor);
  x = x < least ? least : x;
  const Vector magic = splat<Real>(L::kMagic);
  const Vector shifted = x + magic;
  const Vector fraction = x - (shifted - magic);
  const Vector mantissa = L::polynomial(fraction);
  const Bits exponent = ((Bits)shifted - (Bits)magic) << L::kShift;
  return (Vector)((Bits)mantissa + exponent);
}

template <class Real>
inline Real hyperbolic_tangent(Real x) {
  return sizeof(Real) == 4 ? Real(__builtin_tanhf(float(x))) : Real(__builtin_tanh(double(x)));
}

// Dot products to kernel values; `offset` is the sum of the two half squared norms (Gaussian).
template <class Real, KernelKind kind>
inline typename Lanes<Real>::Vector epilogue(typename Lanes<Real>::Vector dot,
                                             typename Lanes<Real>::Vector first_norm,
                                             typename Lanes<Real>::Vector second_norm,
                                             const KernelSpec& kernel) {
  using Vector = typename Lanes<Real>::Vector;
  if (kind == KernelKind::linear) return dot;
  if (kind == KernelKind::gaussian) return exp2_negative<Real>(dot - first_norm - second_norm);
  const Vector inner = Real(kernel.gamma) * dot + Real(kernel.coef0);
  if (kind == KernelKind::polynomial) {
    Vector power = splat<Real>(Real(1));
    for (int k = 0; k < kernel.degree; ++k) power *= inner;
    return power;
  }
  Vector out;
  for (Size k = 0; k < sizeof(Vector) / sizeof(Real); ++k) out[k] = hyperbolic_tangent<Real>(inner[k]);
  return out;
}

inline void add_to(double* target, FloatVector value) {
  WideVector sum;
  __builtin_memcpy(&sum, target, sizeof(sum));
  sum += __builtin_convertvector(value, WideVector);
  __builtin_memcpy(target, &sum, sizeof(sum));
}

inline void add_to(double* target, DoubleVector value) {
  save<double>(target, load<double>(target) + value);
}

template <class Real, KernelKind kind>
void strip_kind(const StripCall<Real>& call) {
  using Vector = typename Lanes<Real>::Vector;
  constexpr Size width = panel_width<Real>();
  constexpr Size half = width / 2;
  const Size features = call.features;
  const Real* panel = call.panels;
  for (Size p = 0; p < call.n_panels; ++p, panel += features * width) {
    Vector dot[kStripRows][2] = {};
    const Real* row = call.strip;
    const Real* column = panel;
    for (Size k = 0; k < features; ++k, row += kStripRows, column += width) {
      const Vector left = load(column), right = load(column + half);
#pragma GCC unroll 4
      for (Size r = 0; r < kStripRows; ++r) {
        const Vector value = splat<Real>(row[r]);
        dot[r][0] += value * left;
        dot[r][1] += value * right;
      }
    }
    Vector left_norm = {}, right_norm = {};
    if (kind == KernelKind::gaussian) {
      left_norm = load(call.panel_norms + p * width);
      right_norm = load(call.panel_norms + p * width + half);
    }
    Vector left_sum = {}, right_sum = {};
#pragma GCC unroll 4
    for (Size r = 0; r < kStripRows; ++r) {
      Vector norm = {};
      if (kind == KernelKind::gaussian) norm = splat<Real>(call.strip_norms[r]);
      const Vector left = epilogue<Real, kind>(dot[r][0], left_norm, norm, call.kernel);
      const Vector right = epilogue<Real, kind>(dot[r][1], right_norm, norm, call.kernel);
      if (call.store[r] != nullptr) {
        save(call.store[r] + p * width, left);
        save(call.store[r] + p * width + half, right);
      }
      left_sum += call.weights[r] * left;
      right_sum += call.weights[r] * right;
    }
    if (call.accumulate != nullptr) {
      add_to(call.accumulate + p * width, left_sum);
      add_to(call.accumulate + p * width + half, right_sum);
    }
  }
}

template <class Real>
void strip(const StripCall<Real>& call) {
  switch (call.kernel.kind) {
    case KernelKind::linear: return strip_kind<Real, KernelKind::linear>(call);
    case KernelKind::polynomial: return strip_kind<Real, KernelKind::polynomial>(call);
    case KernelKind::gaussian: return strip_kind<Real, KernelKind::gaussian>(call);
    case KernelKind::sigmoid: return strip_kind<Real, KernelKind::sigmoid>(call);
  }
}

template <class Real>
void panel_norms(const Real* panel, Size features, Real* norms) {
  using Vector = typename Lanes<Real>::Vector;
  constexpr Size half = panel_width<Real>() / 2;
  Vector left = {}, right = {};
  for (Size k = 0; k < features; ++k, panel += 2 * half) {
    const Vector a = load(panel), b = load(panel + half);
    left += a * a;
    right += b * b;
  }
  save(norms, Real(0.5) * left);
  save(norms + half, Real(0.5) * right);
}

template <class Real>
Real sparse_norm(const Real* data, Size count) {
  using Vector = typename Lanes<Real>::Vector;
  Vector sum = {};
  for (Size k = 0; k < count; ++k) {
    const Vector value = splat<Real>(data[k]);
    sum += value * value;
  }
  return Real(0.5) * sum[0];
}

template <class Real, KernelKind kind, bool mapped>
void sparse_kind(const SparseCall<Real>& call) {
  using Vector = typename Lanes<Real>::Vector;
  constexpr Size width = panel_width<Real>();
  constexpr Size half = width / 2;
  const Vector left_norm = load(call.row_norms), right_norm = load(call.row_norms + half);
  const Vector left_weight = load(call.weights), right_weight = load(call.weights + half);
  alignas(64) Real tile[width][width];  // [column][row]
  for (Size first = 0; first < call.n_columns; first += width) {
    const Size count = call.n_columns - first < width ? call.n_columns - first : width;
    for (Size c = 0; c < count; ++c) {
      const Index column = call.columns[first + c];
      Vector left = {}, right = {};
      for (std::int64_t k = call.offsets[column]; k < call.offsets[column + 1]; ++k) {
        const Size feature = Size(mapped ? call.slots[call.indices[k]] : call.indices[k]);
        const Vector value = splat<Real>(call.data[k]);
        left += value * load(call.panel + feature * width);
        right += value * load(call.panel + feature * width + half);
      }
      const Vector norm = splat<Real>(kind == KernelKind::gaussian ? call.norms[column] : Real(0));
      left = epilogue<Real, kind>(left, left_norm, norm, call.kernel);
      right = epilogue<Real, kind>(right, right_norm, norm, call.kernel);
      save(tile[c], left);
      save(tile[c] + half, right);
      if (call.accumulate != nullptr) {
        const Vector product = left_weight * left + right_weight * right;
        double sum = 0.0;
        for (Size k = 0; k < half; ++k) sum += double(product[k]);
        call.accumulate[first + c] += sum;
      }
    }
    if (call.store != nullptr) {
      for (Size r = 0; r < call.n_rows; ++r) {
        Real* to = call.store[r];
        if (to == nullptr) continue;
        for (Size c = 0; c < count; ++c) to[first + c] = tile[c][r];
      }
    }
  }
}

template <class Real, KernelKind kind>
void sparse_mapped(const SparseCall<Real>& call) {
  if (call.slots != nullptr) return sparse_kind<Real, kind, true>(call);
  return sparse_kind<Real, kind, false>(call);
}

template <class Real>
void sparse(const SparseCall<Real>& call) {
  switch (call.kernel.kind) {
    case KernelKind::linear: return sparse_mapped<Real, KernelKind::linear>(call);
    case KernelKind::polynomial: return sparse_mapped<Real, KernelKind::polynomial>(call);
    case KernelKind::gaussian: return sparse_mapped<Real, KernelKind::gaussian>(call);
    case KernelKind::sigmoid: return sparse_mapped<Real, KernelKind::sigmoid>(call);
  }
}

// Lanewise extreme with its index; ties go to the lowest index, in lanes and across them.
template <class Real, int sign>  // sign +1: maximum, -1: minimum
struct Extreme {
  using Vector = typename Lanes<Real>::Vector;
  using Bits = typename Lanes<Real>::Bits;
  using Int = typename Lanes<Real>::Int;
  Vector best = splat<Real>(sign > 0 ? -__builtin_inf() : __builtin_inf());
  Bits where = Bits{} - 1;

  void meet(Vector value, Bits index) {
    const Bits better = sign > 0 ? value > best : value < best;
    best = better ? value : best;
    where = better ? index : where;
  }
  Int reduce(Real* value) const {
    Int index = -1;
    *value = sign > 0 ? Real(-__builtin_inf()) : Real(__builtin_inf());
    for (Size k = 0; k < sizeof(Vector) / sizeof(Real); ++k) {
      const bool better = sign > 0 ? best[k] > *value : best[k] < *value;
      if (where[k] >= 0 && (better || (best[k] == *value && where[k] < index))) {
        *value = best[k];
        index = where[k];
      }
    }
    return index;
  }
};

// Second-order pair steps (mathematics 0.3) until max_low gradient - min_up gradient <= tolerance.
template <class Real>
long pairs(const PairCall<Real>& call) {
  using Vector = typename Lanes<Real>::Vector;
  using Bits = typename Lanes<Real>::Bits;
  using Int = typename Lanes<Real>::Int;
  constexpr Size lanes = sizeof(Vector) / sizeof(Real);
  const Size size = call.size;
  Bits first_indices;
  for (Size k = 0; k < lanes; ++k) first_indices[k] = Int(k);
  const Vector zero = {};
  const Vector tiny = splat<Real>(Real(1e-12));

  Real step = 0;
  const Real* row_i = call.block;  // with step 0 the first pass only searches
  const Real* row_j = call.block;
  for (long steps = 0;; ++steps) {
    Extreme<Real, -1> lowest;
    Vector highest = splat<Real>(Real(-__builtin_inf()));
    Bits index = first_indices;
    const Vector move = splat<Real>(step);
    for (Size k = 0; k < size; k += lanes, index += Int(lanes)) {
      const Vector gradient = load(call.gradient + k) + move * (load(row_i + k) - load(row_j + k));
      save(call.gradient + k, gradient);
      lowest.meet(gradient + load(call.growth + k), index);
      const Vector falling = gradient + load(call.fall + k);
      highest = falling > highest ? falling : highest;
    }
    Real least, most = -__builtin_inf();
    const Int i = lowest.reduce(&least);
    for (Size k = 0; k < lanes; ++k) most = highest[k] > most ? highest[k] : most;
    if (i < 0 || !(most - least > Real(call.tolerance)) || steps >= call.max_steps) return steps;

    row_i = call.block + Size(i) * size;
    Extreme<Real, +1> best_gain;
    index = first_indices;
    const Vector base = splat<Real>(least);
    const Vector diagonal_i = splat<Real>(call.diagonal[i]);
    for (Size k = 0; k < size; k += lanes, index += Int(lanes)) {
      const Vector descent = load(call.gradient + k) + load(call.fall + k) - base;
      Vector curvature = diagonal_i + load(call.diagonal + k) - Real(2) * load(row_i + k);
      curvature = curvature > tiny ? curvature : tiny;
      Vector gain = descent * descent / curvature;
      gain = descent > zero ? gain : -splat<Real>(Real(1));
      best_gain.meet(gain, index);
    }
    Real gain;
    const Int j = best_gain.reduce(&gain);
    row_j = call.block + Size(j) * size;

    double curvature = double(call.diagonal[i]) + double(call.diagonal[j]) - 2.0 * double(row_i[j]);
    if (!(curvature > 1e-12)) curvature = 1e-12;
    const double room_i = call.upper[i] - call.beta[i];
    const double room_j = call.beta[j] - call.lower[j];
    double length = (double(call.gradient[j]) - double(call.gradient[i])) / curvature;
    const bool stop_i = length >= room_i && room_i <= room_j;
    const bool stop_j = length >= room_j && room_j <= room_i;
    if (stop_i) length = room_i;
    if (stop_j) length = room_j;
    // A reached bound is assigned, not computed: sums of steps would miss it by rounding.
    call.beta[i] = stop_i ? call.upper[i] : call.beta[i] + length;
    call.beta[j] = stop_j ? call.lower[j] : call.beta[j] - length;
    const Real never = Real(__builtin_inf());
    call.growth[i] = call.beta[i] < call.upper[i] ? Real(0) : never;
    call.growth[j] = call.beta[j] < call.upper[j] ? Real(0) : never;
    call.fall[i] = call.beta[i] > call.lower[i] ? Real(0) : -never;
    call.fall[j] = call.beta[j] > call.lower[j] ? Real(0) : -never;
    step = Real(length);
  }
}

template <class Real>
void combine(const Real* const* rows, const double* weights, Size n_rows, Size n_columns,
             double* target) {
  using Vector = typename Lanes<Real>::Vector;
  constexpr Size lanes = sizeof(Vector) / sizeof(Real);
  constexpr Size chunk = 1024;  // keeps the sums in the first-level cache over all rows
  for (Size begin = 0; begin < n_columns; begin += chunk) {
    const Size end = begin + chunk < n_columns ? begin + chunk : n_columns;
    for (Size r = 0; r < n_rows; r += 4) {
      const Real* row[4];
      Real weight[4];
      for (Size k = 0; k < 4; ++k) {
        row[k] = rows[r + k < n_rows ? r + k : r];
        weight[k] = r + k < n_rows ? Real(weights[r + k]) : Real(0);
      }
      Size c = begin;
      for (; c + lanes <= end; c += lanes) {
        const Vector sum = (weight[0] * load(row[0] + c) + weight[1] * load(row[1] + c)) +
                           (weight[2] * load(row[2] + c) + weight[3] * load(row[3] + c));
        add_to(target + c, sum);
      }
      for (; c < end; ++c) {
        const Real sum = (weight[0] * row[0][c] + weight[1] * row[1][c]) +
                         (weight[2] * row[2][c] + weight[3] * row[3][c]);
        target[c] += double(sum);
      }
    }
  }
}

template <class Real>
constexpr Routines<Real> make_table() {
  return {strip<Real>, sparse<Real>, panel_norms<Real>, sparse_norm<Real>, pairs<Real>, combine<Real>};
}

}  // namespace

template <>
const Routines<float>& table<float>() {
  static constexpr Routines<float> routines = make_table<float>();
  return routines;
}

template <>
const Routines<double>& table<double>() {
  static constexpr Routines<double> routines = make_table<double>();
  return routines;
}

}  // namespace WIDEMARGIN_TARGET_NAMESPACE
}  // namespace widemargin
