#define WIDEMARGIN_TARGET_NAMESPACE baseline
#include "routines.inl"
