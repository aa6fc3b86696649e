// Vectors of floats and doubles, exp2, kernel epilogues; part of routines.inl.

// A panel (64 bytes of columns) is one vector with AVX-512, else two.
#ifdef __AVX512F__
#define WIDEMARGIN_VECTOR_BYTES 64
#else
#define WIDEMARGIN_VECTOR_BYTES 32
#endif

typedef float FloatVector __attribute__((vector_size(WIDEMARGIN_VECTOR_BYTES)));
typedef double DoubleVector __attribute__((vector_size(WIDEMARGIN_VECTOR_BYTES)));
typedef std::int32_t Int32Vector __attribute__((vector_size(WIDEMARGIN_VECTOR_BYTES)));
typedef std::int64_t Int64Vector __attribute__((vector_size(WIDEMARGIN_VECTOR_BYTES)));
// Of 32 bytes on every target, for what memory or the length of rows limits.
typedef float FloatOctet __attribute__((vector_size(32)));
typedef double DoubleQuartet __attribute__((vector_size(32)));
typedef std::int64_t Int64Quartet __attribute__((vector_size(32)));
typedef double DoubleOctet __attribute__((vector_size(64)));

// What differs between float and double: the vector, its integer twin, and exp2.
template <class Real>
struct Lanes;

template <>
struct Lanes<float> {
  typedef FloatVector Vector;
  typedef FloatOctet Half;  // of a panel
  typedef Int32Vector Bits;
  typedef std::int32_t Int;
  static constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  static constexpr float kFloor = float(kLeastExponent<float>);
  static constexpr Int kInverse = 0x7EF311C3;  // bits of x and of about 1/x add up to this
  // 2^(n + f), n the lowest bits of `integer`, |f| <= 1/2: relative error 1.7e-7 (Cephes)
  static Vector power_of_two(Bits integer, Vector f) {
    Vector p = 1.535336188319500e-4f * f + 1.339887440266574e-3f;
    p = p * f + 9.618437357674640e-3f;
    p = p * f + 5.550332471162809e-2f;
    p = p * f + 2.402264791363012e-1f;
    p = p * f + 6.931472028550421e-1f;
    return (Vector)((Bits)(p * f + 1.0f) + (integer << 23));
  }
};

// Bits of 2^(k / 16) less k times that bit of the fraction which is worth 1/16 in the exponent.
alignas(64) constexpr std::int64_t kPowers[16] = {
    0x3FF0000000000000, 0x3FEFB5586CF9890F, 0x3FEF72B83C7D517B, 0x3FEF387A6E756238,
    0x3FEF06FE0A31B715, 0x3FEEDEA64C123422, 0x3FEEBFDAD5362A27, 0x3FEEAB07DD485429,
    0x3FEEA09E667F3BCD, 0x3FEEA11473EB0187, 0x3FEEACE5422AA0DB, 0x3FEEC49182A3F090,
    0x3FEEE89F995AD3AD, 0x3FEF199BDD85529C, 0x3FEF5818DCFBA487, 0x3FEFA4AFA2A490DA};

// kPowers at the last four bits of each index.
inline Int64Vector looked_up(Int64Vector index) {
#ifdef __AVX512F__
  const __m512i first = _mm512_load_si512(kPowers), second = _mm512_load_si512(kPowers + 8);
  return (Int64Vector)_mm512_permutex2var_epi64(first, (__m512i)index, second);
#else
  Int64Vector out;
  for (Size k = 0; k < sizeof(out) / sizeof(out[0]); ++k) out[k] = kPowers[index[k] & 15];
  return out;
#endif
}

template <>
struct Lanes<double> {
  typedef DoubleVector Vector;
  typedef DoubleQuartet Half;
  typedef Int64Vector Bits;
  typedef std::int64_t Int;
  static constexpr double kMagic = 422212465065984.0;  // 1.5 * 2^48: rounds to a sixteenth
  static constexpr double kFloor = kLeastExponent<double>;
  static constexpr Int kInverse = 0x7FDE623822FC16E6;
  // 2^(n / 16 + f), n the lowest bits of `sixteenths`, |f| <= 1/32: the polynomial is short
  // (Chebyshev, truncation error 1.5e-17) since a power is looked up. n moved to the exponent
  // leaves its last four bits in the fraction, which kPowers has subtracted.
  static Vector power_of_two(Bits sixteenths, Vector f) {
    Vector p = 1.5403723980749256e-4 * f + 1.3333781576784268e-3;
    p = p * f + 9.618129106919537e-3;
    p = p * f + 5.55041086566393e-2;
    p = p * f + 2.4022650695910075e-1;
    p = p * f + 6.931471805599457e-1;
    const Vector power = (Vector)(looked_up(sixteenths) + (sixteenths << 48));
    return power * (p * f) + power;
  }
};

template <class Real>
constexpr Size kLanes = sizeof(typename Lanes<Real>::Vector) / sizeof(Real);

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

// Lesser and greater of two vectors. Compilers make a comparison and a blend of the ternary, three
// instructions instead of one, and these stand in the innermost loop.
#if defined(__AVX512F__)
inline FloatVector lesser(FloatVector a, FloatVector b) {
  return _mm512_mask_min_ps(a, 0xFFFF, a, b);
}
inline FloatVector greater(FloatVector a, FloatVector b) {
  return _mm512_mask_max_ps(a, 0xFFFF, a, b);
}
inline DoubleVector lesser(DoubleVector a, DoubleVector b) {
  return _mm512_mask_min_pd(a, 0xFF, a, b);
}
inline DoubleVector greater(DoubleVector a, DoubleVector b) {
  return _mm512_mask_max_pd(a, 0xFF, a, b);
}
#elif defined(__AVX__)
inline FloatVector lesser(FloatVector a, FloatVector b) {
  return __builtin_ia32_minps256(a, b);
}
inline FloatVector greater(FloatVector a, FloatVector b) {
  return __builtin_ia32_maxps256(a, b);
}
inline DoubleVector lesser(DoubleVector a, DoubleVector b) {
  return __builtin_ia32_minpd256(a, b);
}
inline DoubleVector greater(DoubleVector a, DoubleVector b) {
  return __builtin_ia32_maxpd256(a, b);
}
#else
template <class Vector>
inline Vector lesser(Vector a, Vector b) {
  return a < b ? a : b;
}
template <class Vector>
inline Vector greater(Vector a, Vector b) {
  return a > b ? a : b;
}
#endif

template <class Real>
inline typename Lanes<Real>::Vector absolute(typename Lanes<Real>::Vector value) {
  using L = Lanes<Real>;
  constexpr typename L::Int all_but_sign = std::numeric_limits<typename L::Int>::max();
  return (typename L::Vector)((typename L::Bits)value & all_but_sign);
}

// 2^x for x <= 0; exactly 1 at 0.
template <class Real>
inline typename Lanes<Real>::Vector exp2_negative(typename Lanes<Real>::Vector x) {
  using L = Lanes<Real>;
  using Vector = typename L::Vector;
  using Bits = typename L::Bits;
  x = greater(splat<Real>(L::kFloor), lesser(Vector{}, x));
  const Vector magic = splat<Real>(L::kMagic);
  const Vector shifted = x + magic;  // its lowest bits are the rounded x
  return L::power_of_two((Bits)shifted, x - (shifted - magic));
}

template <class Real>
inline Real hyperbolic_tangent(Real x) {
  return sizeof(Real) == 4 ? Real(__builtin_tanhf(float(x))) : Real(__builtin_tanh(double(x)));
}

// By squaring: a degree takes as many products as it has binary digits, not as it counts.
template <class Real>
inline typename Lanes<Real>::Vector power(typename Lanes<Real>::Vector base, int degree) {
  auto result = splat<Real>(Real(1));
  for (; degree > 1; degree >>= 1) {
    if (degree & 1) result *= base;
    base *= base;
  }
  return degree == 1 ? result * base : result;
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
  if (kind == KernelKind::polynomial) return power<Real>(inner, kernel.degree);
  Vector out;
  for (Size k = 0; k < sizeof(Vector) / sizeof(Real); ++k)
    out[k] = hyperbolic_tangent<Real>(inner[k]);
  return out;
}

inline void add_to(double* target, FloatOctet value) {
  DoubleOctet sum;
  __builtin_memcpy(&sum, target, sizeof(sum));
  sum += __builtin_convertvector(value, DoubleOctet);
  __builtin_memcpy(target, &sum, sizeof(sum));
}

inline void add_to(double* target, DoubleQuartet value) {
  DoubleQuartet sum;
  __builtin_memcpy(&sum, target, sizeof(sum));
  sum += value;
  __builtin_memcpy(target, &sum, sizeof(sum));
}

#ifdef __AVX512F__
inline void add_to(double* target, FloatVector value) {
  add_to(target, __builtin_shufflevector(value, value, 0, 1, 2, 3, 4, 5, 6, 7));
  add_to(target + 8, __builtin_shufflevector(value, value, 8, 9, 10, 11, 12, 13, 14, 15));
}

inline void add_to(double* target, DoubleVector value) {
  save<double>(target, load<double>(target) + value);
}
#endif

// In place: eight vectors of eight floats, four of four doubles.
inline void transpose(FloatOctet* a) {
  FloatOctet t[8], u[8];
#pragma GCC unroll 4
  for (int k = 0; k < 8; k += 2) {
    t[k] = __builtin_shufflevector(a[k], a[k + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    t[k + 1] = __builtin_shufflevector(a[k], a[k + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
#pragma GCC unroll 2
  for (int k = 0; k < 8; k += 4) {
    u[k] = __builtin_shufflevector(t[k], t[k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    u[k + 1] = __builtin_shufflevector(t[k], t[k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    u[k + 2] = __builtin_shufflevector(t[k + 1], t[k + 3], 0, 1, 8, 9, 4, 5, 12, 13);
    u[k + 3] = __builtin_shufflevector(t[k + 1], t[k + 3], 2, 3, 10, 11, 6, 7, 14, 15);
  }
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) {
    a[k] = __builtin_shufflevector(u[k], u[k + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    a[k + 4] = __builtin_shufflevector(u[k], u[k + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

inline void transpose(DoubleQuartet* a) {
  const DoubleQuartet t0 = __builtin_shufflevector(a[0], a[1], 0, 4, 2, 6);
  const DoubleQuartet t1 = __builtin_shufflevector(a[0], a[1], 1, 5, 3, 7);
  const DoubleQuartet t2 = __builtin_shufflevector(a[2], a[3], 0, 4, 2, 6);
  const DoubleQuartet t3 = __builtin_shufflevector(a[2], a[3], 1, 5, 3, 7);
  a[0] = __builtin_shufflevector(t0, t2, 0, 1, 4, 5);
  a[1] = __builtin_shufflevector(t1, t3, 0, 1, 4, 5);
  a[2] = __builtin_shufflevector(t0, t2, 2, 3, 6, 7);
  a[3] = __builtin_shufflevector(t1, t3, 2, 3, 6, 7);
}
