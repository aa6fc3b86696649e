#include "solver/working_set.hpp"

#include <algorithm>

#include "simd/dispatch.hpp"

namespace widemargin {

namespace {

constexpr Size kCapacity = 1008;    // rows of a power of two would fall into the same cache lines
constexpr Size kBoxCapacity = 496;  // without an equality constraint pair steps cost more a member
// Samples that a start with few support vectors does not know of are not many: of OneClassSVM with
// nu=0.01, entries between them would take most of the time.
constexpr Size kFewest = 240, kTimesSupport = 2;
constexpr double kKeptShare = 0.5;  // of a working set that stays for the next one
constexpr double kWholeCost = 3e7;  // entries between all active samples, up to which all are taken

// Free members move until the end. Where most of them fit in a larger set, it has to be chosen half
// as often, and half as many rows are summed; where they do not, its steps only cost more. (Chosen
// on SVR and quantiles of the sets bike and pol, the largest on kin40k; protein is as before. SVR
// of pol with larger C or gamma takes half to two thirds of the time with the largest.)
constexpr Size kLargeCapacity = 1520, kLargestCapacity = 2544;

// Of so many active samples a row is longer than what its steps read, and comes from memory: the
// sums take most of the time, however many members are free. (Chosen on kin40k; protein, covtype
// and ijcnn1 are as before.)
constexpr Size kManyActive = 30000;

Size pair_capacity(Size free_members, Size active) {
  if (4 * free_members <= 5 * kCapacity) return kCapacity;
  if (active >= kManyActive) return kLargestCapacity;
  for (const Size large : {kLargeCapacity, kLargestCapacity})
    if (2 * free_members <= 3 * large) return large;
  return kCapacity;
}

}  // namespace

template <class Real>
Size WorkingSet<Real>::capacity() const {
  Size most = equality_ ? pair_capacity(active_.free_count(), active_.size()) : kBoxCapacity;
  if (warm_) most = std::min(most, std::max(kFewest, kTimesSupport * active_.support()));
  return std::min(most, active_.size());
}

template <class Real>
bool WorkingSet<Real>::choose_all() {
  const double count = double(active_.size());
  if (!equality_ || count * count * cache_.entry_cost() > kWholeCost) return false;
  std::vector<const Real*> rows = cache_.table(team_);
  if (rows.empty()) return false;
  rows_ = std::move(rows);
  whole_ = true;
  members_.clear();
  for (const Position p : active_.positions()) members_.push_back(p);
  return true;
}

template <class Real>
void WorkingSet<Real>::choose(const Extremes& extremes) {
  if (whole_) clear();
  whole_ = false;
  is_member_ = ByPosition<char>(active_.size(), 0);
  capacity_ = capacity();
  keep_recent();
  collect_candidates(extremes);
  fill_up();
  fill_block();
}

// The most recent free members of the last set stay, then the most recent at a bound.
template <class Real>
void WorkingSet<Real>::keep_recent() {
  const Size most = Size(double(capacity_) * kKeptShare);
  carried_.clear();
  for (const bool free_ones : {true, false})
    for (Size k = members_.size(); k-- > 0 && carried_.size() < most;) {
      const Position p = members_[k];
      if (is_member_[p] || active_.is_free(p) != free_ones) continue;
      is_member_[p] = 1;
      carried_.push_back(k);
    }
  std::reverse(carried_.begin(), carried_.end());
  std::vector<Position> kept;
  for (const Size k : carried_) kept.push_back(members_[k]);
  members_ = std::move(kept);
}

template <class Real>
void WorkingSet<Real>::collect_candidates(const Extremes& extremes) {
  const Slopes slopes = active_.slopes();
  const Size room = capacity_ - members_.size();
  const bool two_sums = active_.two_sums();
  const double above = equality_ ? extremes.highest_low : 0.0;
  const double below = equality_ ? extremes.lowest_up : 0.0;
  auto& [growing, falling, minus_growing, minus_falling] = candidates_;
  growing.begin(room, above);
  falling.begin(room, -below);
  minus_growing.begin(room, two_sums ? above : -kInfinity);
  minus_falling.begin(room, two_sums ? -below : -kInfinity);
  const auto offer = [&](Position p) {
    if (is_member_[p]) return;
    const double beta = two_sums ? active_.beta(p) : 1.0;
    if (active_.can_grow(p))
      (beta >= 0.0 ? growing : minus_growing).offer(active_.growth_slope(p), p);
    if (active_.can_fall(p))
      (beta > 0.0 ? falling : minus_falling).offer(-active_.fall_slope(p), p);
  };
  const auto next_block = [&](Size first) {
    return routines<double>().next_beyond(slopes, first,
                                          std::max(growing.limit(), minus_growing.limit()),
                                          -std::max(falling.limit(), minus_falling.limit()));
  };
  for (Size first = next_block(0); first < slopes.count; first = next_block(first + kSlopeBlock))
    for (Size k = first; k < std::min(first + kSlopeBlock, slopes.count); ++k) offer(Position(k));
}

template <class Real>
void WorkingSet<Real>::fill_up() {
  Size longest = 0;
  for (auto& some : candidates_) {
    some.sort();
    longest = std::max(longest, some.list().size());
  }
  for (Size k = 0; members_.size() < capacity_ && k < longest; ++k)
    for (const auto& some : candidates_) {
      if (k >= some.list().size() || members_.size() == capacity_) continue;
      const Position p = some.list()[k].second;
      if (is_member_[p]) continue;
      is_member_[p] = 1;
      members_.push_back(p);
    }
}

template <class Real>
void WorkingSet<Real>::fill_block() {
  constexpr Size width = panel_width<Real>();
  const Size count = members_.size(), kept = carried_.size();
  const Size stride = (count + width - 1) / width * width;
  Aligned<Real>& block = next_block_;  // two buffers take turns: no page is new twice
  block.resize(stride * stride);
  for (Size a = 0; a < kept; ++a) {
    const Real* from = block_.data() + carried_[a] * stride_;
    Real* to = block.data() + a * stride;
    for (Size b = 0; b < kept; ++b) to[b] = from[carried_[b]];
  }
  cache_.block(members_.data(), count, kept, stride, block.data(), team_);
  routines<Real>().transposed(block.data() + kept * stride, stride, count - kept, kept,
                              block.data() + kept, stride);
  for (Size a = 0; a < count; ++a)
    std::fill(block.begin() + std::ptrdiff_t(a * stride + count),
              block.begin() + std::ptrdiff_t((a + 1) * stride), Real(0));
  std::fill(block.begin() + std::ptrdiff_t(count * stride), block.end(), Real(0));
  std::swap(block_, next_block_);
  stride_ = stride;
  rows_.resize(count);
  for (Size a = 0; a < count; ++a) rows_[a] = block_.data() + a * stride;
}

template class WorkingSet<float>;
template class WorkingSet<double>;

}  // namespace widemargin
