// Compiled with -mavx2 -mfma; see CMakeLists.txt. routines.inl uses no standard-library templates,
// so no inline function compiled here can be picked up by code that runs on older processors.
#define WIDEMARGIN_TARGET_NAMESPACE avx2
#include "simd/routines.inl"
