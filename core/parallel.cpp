#include "parallel.hpp"

#include <algorithm>

namespace widemargin {

namespace {
constexpr double kSmallWork = 6e5;  // below this a wake-up costs more than it saves
}

Team::Team(int threads) : size_(std::max(1, threads)) {
  members_.reserve(static_cast<Size>(size_ - 1));
}

Team::~Team() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    quit_ = true;
  }
  start_.notify_all();
  for (auto& member : members_) member.join();
}

void Team::share(int member) {
  const Size blocks = (count_ + grain_ - 1) / grain_;
  const Size begin = blocks * static_cast<Size>(member) / static_cast<Size>(size_) * grain_;
  const Size end = blocks * static_cast<Size>(member + 1) / static_cast<Size>(size_) * grain_;
  if (begin < std::min(end, count_)) (*work_)(begin, std::min(end, count_));
}

void Team::serve(int member) {
  std::uint64_t seen = 0;
  for (;;) {
    std::unique_lock<std::mutex> lock(mutex_);
    start_.wait(lock, [&] { return quit_ || round_ != seen; });
    if (quit_) return;
    seen = round_;
    lock.unlock();
    share(member);
    lock.lock();
    if (--pending_ == 0) done_.notify_one();
  }
}

void Team::run(Size count, Size grain, double cost, const std::function<void(Size, Size)>& work) {
  if (count == 0) return;
  if (size_ == 1 || cost < kSmallWork) {
    work(0, count);
    return;
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    work_ = &work;
    count_ = count;
    grain_ = grain;
    pending_ = size_ - 1;
    ++round_;
    // Threads start with the first round that needs them, so small fits never pay for one. A new
    // member has seen no round yet and therefore takes part in this one.
    while (members_.size() + 1 < static_cast<Size>(size_)) {
      const int member = static_cast<int>(members_.size()) + 1;
      members_.emplace_back([this, member] { serve(member); });
    }
  }
  start_.notify_all();
  share(0);
  std::unique_lock<std::mutex> lock(mutex_);
  done_.wait(lock, [&] { return pending_ == 0; });
}

}  // namespace widemargin
