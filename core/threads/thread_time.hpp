// Processor time of the calling thread.
#pragma once

#include <cstdint>

namespace widemargin {

std::uint64_t thread_nanoseconds();

}  // namespace widemargin
