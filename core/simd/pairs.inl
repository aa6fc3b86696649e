// The pair solver's inner loop and sums of rows; part of routines.inl.

// Lane k takes what lane k ^ step has.
template <int step, class Vector, Size... lane>
inline Vector exchanged(Vector value, std::index_sequence<lane...>) {
  return __builtin_shufflevector(value, value, int(lane) ^ step...);
}
template <int step, class Vector>
inline Vector exchanged(Vector value) {
  return exchanged<step>(value, std::make_index_sequence<sizeof(Vector) / sizeof(value[0])>());
}

// The largest of all lanes.
template <class Real, int step = int(sizeof(typename Lanes<Real>::Vector) / sizeof(Real) / 2)>
inline Real largest(typename Lanes<Real>::Vector value) {
  value = greater(exchanged<step>(value), value);
  if constexpr (step > 1)
    return largest<Real, step / 2>(value);
  else
    return value[0];
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
#ifdef __AVX512F__
  void meet_among(LaneSet<Real> lanes, Vector value, Bits index) {
    static_assert(sign < 0, "a minimum");
    const LaneSet<Real> better = less_among(lanes, value, best);
    best = chosen(better, value, best);
    where = chosen(better, index, where);
  }
#endif
  // Takes over what another has found, at other indices.
  void meet(const Extreme& other) {
    const Bits better = (sign > 0 ? other.best > best : other.best < best) |
                        ((other.best == best) & (other.where < where));
    best = better ? other.best : best;
    where = better ? other.where : where;
  }
  // Of all lanes, by halves: the mispredicted branches of a loop over them take as long as two
  // hundred members.
  Int reduce(Real* value) const {
    Extreme all = *this;
    all.template meet_lanes<int(sizeof(Vector) / sizeof(Real) / 2)>();
    *value = all.best[0];
    return all.where[0];
  }

 private:
  template <int step>
  void meet_lanes() {
    Extreme other;
    other.best = exchanged<step>(best);
    other.where = exchanged<step>(where);
    meet(other);
    if constexpr (step > 1) meet_lanes<step / 2>();
  }
};

// 1/x for x > 0 to 0.2%, enough to compare gains, in a third of the time of a division: the
// exponent is negated as an integer, and one Newton step follows.
template <class Real>
inline typename Lanes<Real>::Vector roughly_inverse(typename Lanes<Real>::Vector x) {
  using Vector = typename Lanes<Real>::Vector;
  using Bits = typename Lanes<Real>::Bits;
  const Vector guess = (Vector)(Lanes<Real>::kInverse - (Bits)x);
  return guess * (Real(2) - x * guess);
}

// A comparison waits for the one before: several chains of them go on side by side.
constexpr int kChains = 4;
// Numbers by which rows are asked for ahead: of a large working set they come from beyond the
// second-level cache, and which comes next is known only when it is needed.
constexpr Size kAhead = 384;

template <class Real>
inline void ask_for_start(const Real* row, Size size) {
  for (Size k = 0; k < kAhead && k < size; k += panel_width<Real>()) __builtin_prefetch(row + k);
}

// Calls work(first, indices, chain) for every vector of `size` numbers.
template <class Real, class Work>
inline void for_each_vector(Size size, typename Lanes<Real>::Bits indices, const Work& work) {
  using Int = typename Lanes<Real>::Int;
  constexpr Size lanes = sizeof(typename Lanes<Real>::Vector) / sizeof(Real);
  Size k = 0;
  for (; k + kChains * lanes <= size; k += kChains * lanes) {
#pragma GCC unroll 4
    for (int chain = 0; chain < kChains; ++chain, indices += Int(lanes))
      work(k + Size(chain) * lanes, indices, chain);
  }
  for (; k < size; k += lanes, indices += Int(lanes)) work(k, indices, 0);
}

// Moves beta along the pair (i, j) to the minimum between their bounds; returns by how much.
template <class Real>
inline double move_pair(const PairCall<Real>& call, Size i, Size j, double entry, double slope_i,
                        double slope_j) {
  double curvature = double(call.diagonal[i]) + double(call.diagonal[j]) - 2.0 * entry;
  if (!(curvature > 1e-12)) curvature = 1e-12;
  // A kink ends a step as a bound does.
  const double end_i = segment_end(call, i, true);
  const double end_j = segment_end(call, j, false);
  const double room_i = end_i - call.beta[i];
  const double room_j = call.beta[j] - end_j;
  double length = (slope_j - slope_i) / curvature;
  const bool stop_i = length >= room_i && room_i <= room_j;
  const bool stop_j = length >= room_j && room_j <= room_i;
  if (stop_i) length = room_i;
  if (stop_j) length = room_j;
  // A reached bound is assigned, not computed: sums of steps would miss it by rounding.
  call.beta[i] = stop_i ? end_i : call.beta[i] + length;
  call.beta[j] = stop_j ? end_j : call.beta[j] - length;
  note_sides(call, i);
  note_sides(call, j);
  return length;
}

// Which way members without kinks can move, where that is known by lanes: growth and fall say
// nothing more, and reading them is a third of what a step reads.
#ifdef __AVX512F__
template <class Real>
struct Room {
  static constexpr Size kMost = NumberSet<Real>::kMost;
  NumberSet<Real> growing, falling;

  explicit Room(const PairCall<Real>& call) {
    for (Size k = 0; k < call.size; ++k) note(call, k);
  }
  void note(const PairCall<Real>& call, Size k) {
    growing.put(k, call.growth[k] < Real(kInfinity));
    falling.put(k, call.fall[k] > -Real(kInfinity));
  }
};
#else
template <class Real>
struct Room {
  static constexpr Size kMost = 0;
};
#endif
template <class Real>
struct NoRoom {
  explicit NoRoom(const PairCall<Real>&) {}
};

// Second-order pair steps (mathematics 0.3) until max_low gradient - min_up gradient <= tolerance;
// of two sums (mathematics 9.3) on the side of zero where that is larger. Where all members have
// the same diagonal entry, as under a Gaussian kernel, it is not read for each of them;
// `by_lanes` says that it is known by lanes which way they can move.
template <class Real, int sides, bool same_diagonal, bool by_lanes>
long pair_steps(const PairCall<Real>& call) {
  using Vector = typename Lanes<Real>::Vector;
  using Bits = typename Lanes<Real>::Bits;
  using Int = typename Lanes<Real>::Int;
  constexpr Size lanes = sizeof(Vector) / sizeof(Real);
  const Size size = call.size;
  // Not through `call`: for all that the compiler knows, a store might change what it holds.
  Real* const gradients = call.gradient;
  const Real* const diagonal = call.diagonal;
  Bits first_indices;
  for (Size k = 0; k < lanes; ++k) first_indices[k] = Int(k);
  const Vector zero = {};
  const Vector tiny = splat<Real>(Real(1e-12));
  const Real* const growths[2] = {call.growth, call.minus_growth};
  const Real* const falls[2] = {call.fall, call.minus_fall};

  std::conditional_t<by_lanes, Room<Real>, NoRoom<Real>> room(call);
  const auto row_of = [&call](Size k) {
    if (call.rows[k] == nullptr) call.fetch(call.owner, k);
    return call.rows[k];
  };
  Real step = 0;
  const Real* row_i = row_of(0);  // with step 0 the first pass only searches
  const Real* row_j = row_i;
  for (long steps = 0;; ++steps) {
    Extreme<Real, -1> lowest[kChains][sides];
    Vector highest[kChains][sides];
    for (auto& chain : highest)
      for (Vector& side : chain) side = splat<Real>(Real(-__builtin_inf()));
    const Vector move = splat<Real>(step);
    const auto update = [&](Size k, Bits index, int chain) {
      __builtin_prefetch(row_j + k + kAhead);
      const Vector gradient = load(gradients + k) + move * (load(row_i + k) - load(row_j + k));
      save(gradients + k, gradient);
      // padding may hold NaN: of it and another, greater() takes the second
      if constexpr (by_lanes) {
        lowest[chain][0].meet_among(room.growing.lanes(k), gradient, index);
        highest[chain][0] = greater_among(room.falling.lanes(k), gradient, highest[chain][0]);
      } else {
        for (int s = 0; s < sides; ++s) {
          lowest[chain][s].meet(gradient + load(growths[s] + k), index);
          const Vector falling = gradient + load(falls[s] + k);
          highest[chain][s] = greater(falling, highest[chain][s]);
        }
      }
    };
    for_each_vector<Real>(size, first_indices, update);
    for (int chain = 1; chain < kChains; ++chain)
      for (int s = 0; s < sides; ++s) {
        lowest[0][s].meet(lowest[chain][s]);
        highest[0][s] = greater(highest[chain][s], highest[0][s]);
      }
    Int i = -1;
    int side = 0;
    Real least = 0, violation = -__builtin_inf();
    for (int s = 0; s < sides; ++s) {
      Real own;
      const Int first = lowest[0][s].reduce(&own);
      const Real most = largest<Real>(highest[0][s]);
      if (first < 0 || !(most - own > violation)) continue;
      i = first, side = s, least = own, violation = most - own;
    }
    if (i < 0 || !(violation > Real(call.tolerance)) || steps >= call.max_steps) return steps;
    const Real* const growth = growths[side];
    const Real* const fall = falls[side];

    row_i = row_of(Size(i));
    Extreme<Real, +1> best_gain[kChains];
    const Vector base = splat<Real>(least);
    const Vector diagonal_i = splat<Real>(diagonal[i]);
    const Vector twice = diagonal_i + diagonal_i;
    ask_for_start(row_i, size);
    const auto compare = [&](Size k, Bits index, int chain) {
      __builtin_prefetch(row_i + k + kAhead);
      Vector slope = load(gradients + k);
      if constexpr (!by_lanes) slope += load(fall + k);
      const Vector descent = slope - base;
      const Vector both = same_diagonal ? twice : diagonal_i + load(diagonal + k);
      const Vector curvature = greater(tiny, both - Real(2) * load(row_i + k));
      // Gains may underflow to zero: a member that cannot fall has less than that.
      Vector gain = descent * descent * roughly_inverse<Real>(curvature);
      const Vector none = -splat<Real>(Real(1));
      gain = descent > zero ? gain : none;
      if constexpr (by_lanes) gain = chosen(room.falling.lanes(k), gain, none);
      best_gain[chain].meet(gain, index);
    };
    for_each_vector<Real>(size, first_indices, compare);
    for (int chain = 1; chain < kChains; ++chain) best_gain[0].meet(best_gain[chain]);
    Real gain;
    const Int j = best_gain[0].reduce(&gain);
    row_j = row_of(Size(j));
    ask_for_start(row_j, size);

    const double slope_i = double(gradients[i]) + double(growth[i]);
    const double slope_j = double(gradients[j]) + double(fall[j]);
    step = Real(move_pair(call, Size(i), Size(j), double(row_i[j]), slope_i, slope_j));
    if constexpr (by_lanes) room.note(call, Size(i)), room.note(call, Size(j));
  }
}

template <class Real, int sides, bool by_lanes>
long pair_steps(const PairCall<Real>& call) {
  bool same = true;
  for (Size k = 1; k < call.size; ++k) same = same && call.diagonal[k] == call.diagonal[0];
  return same ? pair_steps<Real, sides, true, by_lanes>(call)
              : pair_steps<Real, sides, false, by_lanes>(call);
}

template <class Real>
long pairs(const PairCall<Real>& call) {
  if (call.minus_growth != nullptr) return pair_steps<Real, 2, false>(call);
  if constexpr (Room<Real>::kMost > 0) {
    bool kinked = call.size > Room<Real>::kMost;
    for (Size k = 0; k < call.size; ++k)
      kinked = kinked || call.above[k] != Real(0) || call.below[k] != Real(0);
    if (!kinked) return pair_steps<Real, 1, true>(call);
  }
  return pair_steps<Real, 1, false>(call);
}

// to[c][r] = from[r][c], by blocks in registers. Rows that are written lie far apart in memory:
// they are asked for ahead.
template <class Real>
void transposed(const Real* from, Size from_stride, Size n_rows, Size n_columns, Real* to,
                Size to_stride) {
  using Vector = typename Lanes<Real>::Half;
  constexpr Size side = sizeof(Vector) / sizeof(Real);
  const Size whole_rows = n_rows / side * side, whole_columns = n_columns / side * side;
  for (Size c = 0; c < whole_columns; c += side)
    for (Size r = 0; r < whole_rows; r += side) {
      Vector block[side];
      for (Size k = 0; k < side; ++k)
        __builtin_memcpy(block + k, from + (r + k) * from_stride + c, sizeof(Vector));
      for (Size k = 0; k < side; ++k) __builtin_prefetch(to + (c + side + k) * to_stride + r, 1);
      transpose(block);
      for (Size k = 0; k < side; ++k)
        __builtin_memcpy(to + (c + k) * to_stride + r, block + k, sizeof(Vector));
    }
  for (Size c = 0; c < n_columns; ++c)
    for (Size r = c < whole_columns ? whole_rows : 0; r < n_rows; ++r)
      to[c * to_stride + r] = from[r * from_stride + c];
}

// target[c] += sum_r weights[r] rows[r][c]. Rows come from memory, which answers fastest when it is
// asked for long pieces of several of them at a time; the sums wait in the second-level cache.
template <class Real>
void combine(const Real* const* rows, const double* weights, Size n_rows, Size n_columns,
             double* target) {
  using Vector = typename Lanes<Real>::Vector;
  constexpr Size lanes = sizeof(Vector) / sizeof(Real);
  constexpr Size piece = 8192, at_once = 8;
  for (Size begin = 0; begin < n_columns; begin += piece) {
    const Size end = begin + piece < n_columns ? begin + piece : n_columns;
    for (Size r = 0; r < n_rows; r += at_once) {
      const Real* row[at_once];
      Real weight[at_once];
      for (Size k = 0; k < at_once; ++k) {
        row[k] = rows[r + k < n_rows ? r + k : r];
        weight[k] = r + k < n_rows ? Real(weights[r + k]) : Real(0);
      }
      Size c = begin;
      for (; c + lanes <= end; c += lanes) {
        Vector sums[2] = {};
#pragma GCC unroll 8
        for (Size k = 0; k < at_once; ++k) sums[k % 2] += weight[k] * load(row[k] + c);
        add_to(target + c, sums[0] + sums[1]);
      }
      for (; c < end; ++c) {
        Real sums[2] = {};
        for (Size k = 0; k < at_once; ++k) sums[k % 2] += weight[k] * row[k][c];
        target[c] += double(sums[0] + sums[1]);
      }
    }
  }
}
