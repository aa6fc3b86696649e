// The vector instructions found by CPUID are those that the compiler's library finds.
#include "simd/processor.hpp"

#include "tests/testing.hpp"

using namespace widemargin;
using testing::require;

#if defined(__x86_64__) && !defined(_WIN32)

WIDEMARGIN_TEST(vector_instructions_are_those_of_the_compilers_library) {
  const VectorInstructions found = vector_instructions();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  require(found.avx2 == avx2, "AVX2 with FMA");
  require(found.avx512 == (avx2 && avx512), "AVX-512");
}

#endif
