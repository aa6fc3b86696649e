#include "threads/parallel.hpp"

#include <algorithm>
#include <exception>

namespace widemargin {

namespace {
constexpr double kSmallWork = 6e5;  // below this a wake-up costs more than it saves
constexpr Size kPiecesPerMember = 4;
}  // namespace

Team::Team(int threads) : size_(std::max(1, threads)) {
  members_.reserve(Size(size_ - 1));
}

Team::~Team() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    quit_ = true;
  }
  start_.notify_all();
  for (auto& member : members_) member.join();
}

// An idle thread takes the next piece: a slow core does not keep the others waiting.
void Team::share() {
  const Size pieces = Size(size_) * kPiecesPerMember;
  const Size blocks = (count_ + grain_ - 1) / grain_;
  for (Size piece = next_++; piece < pieces; piece = next_++) {
    const Size begin = blocks * piece / pieces * grain_;
    const Size end = std::min(blocks * (piece + 1) / pieces * grain_, count_);
    if (begin < end && !failure_.guard([&] { (*work_)(begin, end); })) next_ = pieces;
  }
}

void Team::serve() {
  std::uint64_t seen = 0;
  for (;;) {
    std::unique_lock<std::mutex> lock(mutex_);
    start_.wait(lock, [&] { return quit_ || round_ != seen; });
    if (quit_) return;
    seen = round_;
    lock.unlock();
    share();
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
    next_ = 0;
    ++round_;
    // Threads start with the first round that needs them, so small fits never pay for one. A new
    // member has seen no round yet and therefore takes part in this one.
    try {
      while (members_.size() + 1 < Size(size_)) members_.emplace_back([this] { serve(); });
    } catch (const std::exception&) {  // the system refuses more: go on with these
      size_ = int(members_.size()) + 1;
    }
    pending_ = size_ - 1;
  }
  start_.notify_all();
  share();
  std::unique_lock<std::mutex> lock(mutex_);
  done_.wait(lock, [&] { return pending_ == 0; });
  failure_.rethrow();
}

}  // namespace widemargin
