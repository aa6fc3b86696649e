#include "simd/dispatch.hpp"

#include <cstdlib>
#include <cstring>

namespace widemargin {

namespace {

bool use_avx2() {
#ifdef WIDEMARGIN_AVX2
  static const bool chosen = [] {
    const char* target = std::getenv("WIDEMARGIN_TARGET");
    if (target != nullptr && std::strcmp(target, "baseline") == 0) return false;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  }();
  return chosen;
#else
  return false;
#endif
}

}  // namespace

template <class Real>
const Routines<Real>& routines() {
#ifdef WIDEMARGIN_AVX2
  if (use_avx2()) return avx2::table<Real>();
#endif
  return baseline::table<Real>();
}

template const Routines<float>& routines<float>();
template const Routines<double>& routines<double>();

const char* target_name() {
  return use_avx2() ? "avx2" : "baseline";
}

}  // namespace widemargin
