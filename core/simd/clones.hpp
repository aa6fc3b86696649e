// Functions compiled twice, for processors with AVX2 and without, chosen when loaded.
#pragma once

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// A level, not a processor: "arch=haswell" is taken by that one alone.
#if __GNUC__ >= 12
#define WIDEMARGIN_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define WIDEMARGIN_CLONES __attribute__((target_clones("avx2", "default")))
#endif
#else
#define WIDEMARGIN_CLONES
#endif
