#include "simd/dispatch.hpp"

#include <cstdlib>
#include <cstring>

#include "simd/processor.hpp"

namespace widemargin {

namespace {

enum class Target { baseline, avx2, avx512 };

// The best of this processor, but none above what WIDEMARGIN_TARGET names.
Target choose_target() {
#ifdef WIDEMARGIN_AVX2
  const char* named = std::getenv("WIDEMARGIN_TARGET");
  const auto limited_to = [named](const char* name) {
    return named != nullptr && std::strcmp(named, name) == 0;
  };
  if (limited_to("baseline")) return Target::baseline;
  const VectorInstructions found = vector_instructions();
  if (!found.avx2) return Target::baseline;
#ifdef WIDEMARGIN_AVX512
  if (found.avx512 && !limited_to("avx2")) return Target::avx512;
#endif
  return Target::avx2;
#else
  return Target::baseline;
#endif
}

Target target() {
  static const Target chosen = choose_target();
  return chosen;
}

}  // namespace

template <class Real>
const Routines<Real>& routines() {
  switch (target()) {
#ifdef WIDEMARGIN_AVX512
    case Target::avx512:
      return avx512::table<Real>();
#endif
#ifdef WIDEMARGIN_AVX2
    case Target::avx2:
      return avx2::table<Real>();
#endif
    default:
      return baseline::table<Real>();
  }
}

template const Routines<float>& routines<float>();
template const Routines<double>& routines<double>();

const char* target_name() {
  switch (target()) {
    case Target::avx512:
      return "avx512";
    case Target::avx2:
      return "avx2";
    default:
      return "baseline";
  }
}

}  // namespace widemargin
