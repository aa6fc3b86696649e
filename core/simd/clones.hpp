// Functions compiled twice, for processors with AVX2 and without, chosen when loaded.
#pragma once

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WIDEMARGIN_CLONES __attribute__((target_clones("arch=haswell", "default")))
#else
#define WIDEMARGIN_CLONES
#endif
