// Products of a dense matrix with a vector, in double precision; part of routines.inl.

typedef float HalfVector __attribute__((vector_size(16)));

inline DoubleVector widened(const float* from) {
  HalfVector half;
  __builtin_memcpy(&half, from, sizeof(half));
  return __builtin_convertvector(half, DoubleVector);
}

inline DoubleVector widened(const double* from) {
  return load(from);
}

// One row after the other: several at a time would be as many streams for the memory to follow.
template <class Value>
void times_rows(const Value* rows, Size n_rows, Size width, const double* weights, double* out) {
  for (Size r = 0; r < n_rows; ++r) {
    const Value* row = rows + r * width;
    DoubleVector sums[4] = {};
    double rest = 0;
    Size k = 0;
    for (; k + 16 <= width; k += 16)
#pragma GCC unroll 4
      for (Size part = 0; part < 4; ++part)
        sums[part] += widened(row + k + 4 * part) * load(weights + k + 4 * part);
    for (; k + 4 <= width; k += 4) sums[0] += widened(row + k) * load(weights + k);
    for (; k < width; ++k) rest += double(row[k]) * weights[k];
    const DoubleVector sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    out[r] = ((sum[0] + sum[1]) + (sum[2] + sum[3])) + rest;
  }
}

template <class Value>
void sum_rows(const Value* rows, Size n_rows, Size width, const double* weights, double* out) {
  for (Size r = 0; r < n_rows; ++r) {
    const Value* row = rows + r * width;
    Size c = 0;
    for (; c + 4 <= width; c += 4) add_to(out + c, weights[r] * widened(row + c));
    for (; c < width; ++c) out[c] += weights[r] * double(row[c]);
  }
}
