// What a Gram handle has done so far: kernel entries by purpose, seconds by activity.
#pragma once

#include <array>
#include <atomic>

#include "common.hpp"
#include "threads/thread_time.hpp"

namespace widemargin {

// Why kernel entries are evaluated. Of inactive samples: where they enter with a stage, between
// rounds, and before a solution is believed.
enum class Purpose : Size {
  active_rows,
  blocks,
  tables,
  stages,
  inactive,
  last_check,
  products,
  certificate,
  other
};
constexpr std::array<const char*, 9> kPurposes{"active_rows", "blocks",      "tables",
                                               "stages",      "inactive",    "last_check",
                                               "products",    "certificate", "other"};

// What a solve spends its time on; the rest is selection and bookkeeping.
enum class Activity : Size { entries, pair_steps, row_sums, arranging };
constexpr std::array<const char*, 4> kActivities{"entries", "pair_steps", "row_sums", "arranging"};

class WorkLog {
 public:
  void count(Purpose purpose, std::uint64_t asked, std::uint64_t evaluated) {
    entries_[Size(purpose)] += evaluated;
    asked_ += asked;
  }
  void count(Purpose purpose, std::uint64_t entries) { count(purpose, entries, entries); }
  // Entries that were evaluated, or that a local kernel is known to have as zeros.
  std::uint64_t asked() const { return asked_; }
  std::uint64_t entries(Purpose purpose) const { return entries_[Size(purpose)]; }
  std::uint64_t evaluated() const {
    std::uint64_t sum = 0;
    for (const auto& entries : entries_) sum += entries;
    return sum;
  }
  double seconds(Activity activity) const { return 1e-9 * double(nanoseconds_[Size(activity)]); }

  // Adds the processor time of the calling thread from here to the end of the scope.
  class Timer {
   public:
    Timer(WorkLog& log, Activity activity) : total_(log.nanoseconds_[Size(activity)]) {}
    ~Timer() { total_ += thread_nanoseconds() - start_; }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

   private:
    std::atomic<std::uint64_t>& total_;
    const std::uint64_t start_ = thread_nanoseconds();
  };

 private:
  std::array<std::atomic<std::uint64_t>, kPurposes.size()> entries_{};
  std::atomic<std::uint64_t> asked_{0};
  std::array<std::atomic<std::uint64_t>, kActivities.size()> nanoseconds_{};
};

}  // namespace widemargin
