// Compiled with -mavx512f and its kin; see CMakeLists.txt and routines_avx2.cpp.
#include <immintrin.h>

#define WIDEMARGIN_TARGET_NAMESPACE avx512
#include "simd/routines.inl"
