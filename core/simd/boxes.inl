// Distances of a point to boxes; part of routines.inl.

// out[s] = squared distance of the point to box s of `count`, a multiple of 16; bounds are
// [feature][count].
inline void box_distances(const float* point, Size features, const float* low, const float* high,
                          Size count, float* out) {
  constexpr Size lanes = kLanes<float>;
  for (Size s = 0; s < count; s += lanes) {
    FloatVector sum = {};
    for (Size k = 0; k < features; ++k) {
      const FloatVector value = splat<float>(point[k]);
      const FloatVector below = load(low + k * count + s) - value;
      const FloatVector above = value - load(high + k * count + s);
      const FloatVector gap = greater(greater(below, above), FloatVector{});
      sum += gap * gap;
    }
    save(out + s, sum);
  }
}
