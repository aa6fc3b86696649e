#define WIDEMARGIN_TARGET_NAMESPACE baseline
#include "simd/routines.inl"
