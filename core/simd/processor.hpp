// Which vector instructions the processor has and the system lets programs use.
#pragma once

#if defined(__x86_64__) || defined(_M_X64)
#include <cpuid.h>
#endif

namespace widemargin {

struct VectorInstructions {
  bool avx2 = false;    // with FMA
  bool avx512 = false;  // F, BW, DQ and VL
};

// By CPUID, not by __builtin_cpu_supports: clang-cl links no library that has it.
inline VectorInstructions vector_instructions() {
  VectorInstructions found;
#if defined(__x86_64__) || defined(_M_X64)
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  const auto has = [](unsigned word, unsigned bit) { return (word >> bit & 1u) != 0; };
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || !has(ecx, 27)) return found;  // OSXSAVE
  const bool fma = has(ecx, 12);
  unsigned saved = 0, high = 0;  // the registers that the system saves
  __asm__("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return found;
  const unsigned wide = 0x06, widest = 0xe6;  // SSE and AVX; also masks and both halves of ZMM
  found.avx2 = fma && has(ebx, 5) && (saved & wide) == wide;
  found.avx512 = found.avx2 && has(ebx, 16) && has(ebx, 17) && has(ebx, 30) && has(ebx, 31) &&
                 (saved & widest) == widest;
#endif
  return found;
}

}  // namespace widemargin
