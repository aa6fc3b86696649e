#include "threads/thread_time.hpp"

#ifdef _WIN32
#include <windows.h>
#else
#include <ctime>
#endif

namespace widemargin {

#ifdef _WIN32

std::uint64_t thread_nanoseconds() {
  FILETIME begun, ended, system, own;  // in units of 100 ns
  GetThreadTimes(GetCurrentThread(), &begun, &ended, &system, &own);
  const auto units = [](const FILETIME& time) {
    return std::uint64_t(time.dwHighDateTime) << 32 | time.dwLowDateTime;
  };
  return 100 * (units(system) + units(own));
}

#else

std::uint64_t thread_nanoseconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::uint64_t(time.tv_sec) * 1000000000u + std::uint64_t(time.tv_nsec);
}

#endif

}  // namespace widemargin
