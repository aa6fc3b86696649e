// Runs every registered test and says which failed.
#include <cstdio>
#include <exception>

#include "simd/dispatch.hpp"
#include "tests/testing.hpp"

int main() {
  int failed = 0;
  for (const testing::Test& test : testing::registry()) {
    try {
      test.body();
      std::printf("ok      %s\n", test.name.c_str());
    } catch (const std::exception& error) {
      std::printf("FAILED  %s: %s\n", test.name.c_str(), error.what());
      ++failed;
    }
  }
  std::printf("%zu passed, %d failed (%s)\n", testing::registry().size() - std::size_t(failed),
              failed, widemargin::target_name());
  return failed == 0 ? 0 : 1;
}
