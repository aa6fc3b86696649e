// The slopes of many variables in their boxes; part of routines.inl.

// Of a vector of variables: along which slope each can grow, +inf where it cannot, and fall, -inf.
inline DoubleVector growth_slopes(const Slopes& slopes, Size k) {
  const DoubleVector beta = load(slopes.betas + k), kink = load(slopes.kinks + k);
  const DoubleVector slope = load(slopes.gradients + k) + (beta >= 0.0 ? kink : -kink);
  return beta < load(slopes.upper + k) ? slope : splat<double>(kInfinity);
}
inline DoubleVector fall_slopes(const Slopes& slopes, Size k) {
  const DoubleVector beta = load(slopes.betas + k), kink = load(slopes.kinks + k);
  const DoubleVector slope = load(slopes.gradients + k) + (beta > 0.0 ? kink : -kink);
  return beta > load(slopes.lower + k) ? slope : splat<double>(-kInfinity);
}

inline void slope_extremes(const Slopes& slopes, double* lowest_up, double* highest_low) {
  constexpr Size lanes = kLanes<double>;
  DoubleVector lowest = splat<double>(kInfinity), highest = splat<double>(-kInfinity);
  const auto meet = [&](const Slopes& some, Size k) {
    lowest = lesser(growth_slopes(some, k), lowest);  // of NaN and another, the second is taken
    highest = greater(fall_slopes(some, k), highest);
  };
  Size first = 0;
  for (; first + lanes <= slopes.count; first += lanes) meet(slopes, first);
  // The others go through buffers, beside variables that cannot move.
  double rest[5][lanes] = {};
  const double* const from[5] = {slopes.gradients, slopes.betas, slopes.lower, slopes.upper,
                                 slopes.kinks};
  for (Size a = 0; a < 5; ++a)
    for (Size k = first; k < slopes.count; ++k) rest[a][k - first] = from[a][k];
  meet({rest[0], rest[1], rest[2], rest[3], rest[4], lanes}, 0);
  for (Size k = 0; k < lanes; ++k) {
    *lowest_up = lowest[k] < *lowest_up ? lowest[k] : *lowest_up;
    *highest_low = highest[k] > *highest_low ? highest[k] : *highest_low;
  }
}

inline Size next_beyond(const Slopes& slopes, Size first, double growing, double falling) {
  constexpr Size lanes = kLanes<double>;
  const DoubleVector below = splat<double>(growing), above = splat<double>(falling);
  for (; first + kSlopeBlock <= slopes.count; first += kSlopeBlock) {
    Int64Vector beyond = {};
    for (Size k = first; k < first + kSlopeBlock; k += lanes)
      beyond |= (growth_slopes(slopes, k) < below) | (fall_slopes(slopes, k) > above);
    std::int64_t any = 0;
    for (Size k = 0; k < lanes; ++k) any |= beyond[k];
    if (any != 0) break;
  }
  return first;
}
