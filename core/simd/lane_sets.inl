// Sets of numbers by lanes, and what compares only those; part of routines.inl. With AVX-512 alone:
// elsewhere blends by such sets take longer than numbers beside that say the same.
#ifdef __AVX512F__

template <class Real>
using LaneSet = std::conditional_t<sizeof(Real) == 4, __mmask16, __mmask8>;

// A set of numbers of an array, a byte each: on the stack, and far less to read than numbers.
template <class Real>
class NumberSet {
 public:
  static constexpr Size kMost = 8192;

  void put(Size k, bool in) { bytes_[k] = in ? -1 : 0; }
  // Of the numbers of a vector, from k on.
  LaneSet<Real> lanes(Size k) const {
    if constexpr (sizeof(Real) == 4)
      return _mm_movepi8_mask(_mm_load_si128(reinterpret_cast<const __m128i*>(bytes_ + k)));
    else
      return LaneSet<Real>(
          _mm_movepi8_mask(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes_ + k))));
  }

 private:
  alignas(64) signed char bytes_[kMost];
};

// The second, or its greater with the first where the lane is in the set.
inline FloatVector greater_among(__mmask16 lanes, FloatVector a, FloatVector b) {
  return _mm512_mask_max_ps(b, lanes, a, b);
}
inline DoubleVector greater_among(__mmask8 lanes, DoubleVector a, DoubleVector b) {
  return _mm512_mask_max_pd(b, lanes, a, b);
}
inline __mmask16 less_among(__mmask16 lanes, FloatVector a, FloatVector b) {
  return _mm512_mask_cmp_ps_mask(lanes, a, b, _CMP_LT_OQ);
}
inline __mmask8 less_among(__mmask8 lanes, DoubleVector a, DoubleVector b) {
  return _mm512_mask_cmp_pd_mask(lanes, a, b, _CMP_LT_OQ);
}
// The first where the lane is in the set, else the second.
inline FloatVector chosen(__mmask16 lanes, FloatVector a, FloatVector b) {
  return _mm512_mask_mov_ps(b, lanes, a);
}
inline DoubleVector chosen(__mmask8 lanes, DoubleVector a, DoubleVector b) {
  return _mm512_mask_mov_pd(b, lanes, a);
}
inline Int32Vector chosen(__mmask16 lanes, Int32Vector a, Int32Vector b) {
  return (Int32Vector)_mm512_mask_mov_epi32((__m512i)b, lanes, (__m512i)a);
}
inline Int64Vector chosen(__mmask8 lanes, Int64Vector a, Int64Vector b) {
  return (Int64Vector)_mm512_mask_mov_epi64((__m512i)b, lanes, (__m512i)a);
}

#endif
