#include "solver/table_batch.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include "numerics/outward.hpp"
#include "solver/margin_polish.hpp"
#include "solver/matrix_solver.hpp"
#include "solver/near_margin.hpp"
#include "solver/second_sum_certificate.hpp"
#include "threads/first_failure.hpp"

namespace widemargin {

namespace {

constexpr long kStepsPerMember = 100;  // beyond it, pair steps creep: another method is faster
constexpr double kNearly = 0.97;       // of the tolerance: rounding must not lift what is proved
constexpr Size kMostEntries = Size(1) << 22;  // in double, that a polish holds
constexpr double kPolishShare = 0.25;         // of the work of a solve that the polish may take
constexpr double kPolishRounds = 2.0;         // systems that a polish solves, mostly
constexpr double kProductCost = 0.25;         // of a multiplication in its factor, in entries
constexpr double kFixedWork = 1e6;            // of any fit, beside the solve
constexpr double kDoubleCost = 2.0;           // of an entry in double precision
constexpr double kThreadWork = 2e6;           // members squared, below which no thread is started
constexpr std::chrono::milliseconds kPeriod{20};  // between two calls of the monitor

// When to stop, asked by all threads; the monitor is called by the one that made it.
class BatchControl {
 public:
  BatchControl(double max_seconds, const std::function<bool(const Progress&)>& monitor)
      : monitor_(monitor), max_seconds_(max_seconds) {}

  bool proceed() {
    if (reason_.load() != Status::converged) return false;
    const auto now = Clock::now();
    if (std::chrono::duration<double>(now - start_).count() > max_seconds_)
      reason_ = Status::max_seconds;
    if (std::this_thread::get_id() == caller_ && now - asked_ >= kPeriod) {
      asked_ = now;
      if (monitor_ && !monitor_({steps.load(), 0.0, left.load()})) reason_ = Status::interrupted;
    }
    return reason_.load() == Status::converged;
  }
  Status reason() const { return reason_.load(); }

  std::atomic<long> steps{0};
  std::atomic<Size> left{0};  // members of problems not yet solved

 private:
  using Clock = std::chrono::steady_clock;

  const std::function<bool(const Progress&)>& monitor_;
  const double max_seconds_;
  const std::thread::id caller_ = std::this_thread::get_id();
  const Clock::time_point start_ = Clock::now();
  Clock::time_point asked_ = start_;
  std::atomic<Status> reason_{Status::converged};
};

// One problem with its members in the order of the table, so that it reads whole pieces of rows.
// Memory that a thread keeps for its next problem.
class ArrangedProblem {
 public:
  Aligned<float> block;         // of its solver
  std::vector<double> entries;  // near its margin
  std::vector<double> beta, values, errors;
  std::unique_ptr<bool[]> summed;

  MatrixProblem take(const Batch& batch, Size p, Size table_size) {
    const Size begin = Size(batch.offsets[p]), n = batch.size(p);
    arrange(batch.members + begin, n, table_size);
    members_.resize(n), linear_.resize(n), lower_.resize(n), upper_.resize(n);
    kink_.resize(batch.kink == nullptr ? 0 : n);
    beta.resize(n), values.resize(n), errors.assign(n, kInfinity);
    summed = std::make_unique<bool[]>(n);
    for (Size k = 0; k < n; ++k) {
      const Size from = begin + order_[k];
      members_[k] = batch.members[from], linear_[k] = batch.linear[from];
      lower_[k] = batch.lower[from], upper_[k] = batch.upper[from], beta[k] = batch.beta[from];
      if (batch.kink != nullptr) kink_[k] = batch.kink[from];
    }
    MatrixProblem problem{{n, linear_.data(), lower_.data(), upper_.data(), batch.equality},
                          members_.data(),
                          batch.totals[p]};
    if (batch.kink != nullptr) problem.kink = kink_.data();
    if (batch.second_sum == SecondSumOf::margin) problem.margins = linear_.data();
    second_ = {0.0, false};
    if (batch.second_sum == SecondSumOf::tube) problem.second = &second_;
    return problem;
  }

  // Counts all in units of the margin, as the model is stored. The division rounds every
  // coefficient, and every value.
  void to_unit_margin(const KernelTable& table, double margin) {
    const Size n = order_.size();
    std::vector<double> lengths(n);
    double reach = 0.0;
    for (Size k = 0; k < n; ++k) {
      const bool at_lower = beta[k] == lower_[k], at_upper = beta[k] == upper_[k];
      linear_[k] = upper_[k] > 0.0 ? 1.0 : -1.0;
      lower_[k] /= margin, upper_[k] /= margin;
      beta[k] = std::min(std::max(beta[k] / margin, lower_[k]), upper_[k]);
      if (at_lower) beta[k] = lower_[k];
      if (at_upper) beta[k] = upper_[k];
      lengths[k] = std::sqrt(std::max(0.0, table.diagonal(members_[k])));
      reach += std::abs(beta[k]) * lengths[k];
    }
    for (Size k = 0; k < n; ++k) {
      values[k] /= margin;
      const double rounding = 2.0 * kFew * (std::abs(values[k]) + reach * lengths[k]);
      errors[k] = errors[k] / margin * (1.0 + kFew) + rounding;
    }
  }

  void give(const Batch& batch, Size p) const {
    const Size begin = Size(batch.offsets[p]);
    for (Size k = 0; k < order_.size(); ++k) {
      const Size to = begin + order_[k];
      batch.beta[to] = beta[k], batch.values[to] = values[k];
      batch.errors[to] = errors[k], batch.summed[to] = summed[k];
    }
  }

 private:
  // Sorts by counting: the table has few rows.
  void arrange(const Index* members, Size n, Size table_size) {
    order_.resize(n);
    if (std::is_sorted(members, members + n)) {
      std::iota(order_.begin(), order_.end(), Size(0));
      return;
    }
    numbers_.assign(table_size, 0);
    for (Size k = 0; k < n; ++k) numbers_[Size(members[k])] = k + 1;
    Size next = 0;
    for (const Size number : numbers_)
      if (number != 0) order_[next++] = number - 1;
  }

  std::vector<Size> order_, numbers_;
  std::vector<Index> members_;
  std::vector<double> linear_, lower_, upper_, kink_;
  SecondSum second_{};
};

class BatchSolver {
 public:
  BatchSolver(const KernelTable& table, const Batch& batch, const BatchOptions& options,
              BatchControl& control)
      : table_(table), batch_(batch), options_(options), control_(control) {}

  void solve(Size p, ArrangedProblem& own) const {
    const MatrixProblem problem = own.take(batch_, p, table_.size());
    const std::function<bool()> proceed = [this] { return control_.proceed(); };
    const Proceed stepwise = [this](long, double) { return control_.proceed(); };
    TablePoint point(table_, problem, own.beta.data(), options_.from_vertex);
    const std::vector<Size> segments = point.segments();
    const long creeping = kStepsPerMember * long(problem.n);
    const long limit = options_.max_steps < 0 ? creeping : std::min(creeping, options_.max_steps);
    Outcome outcome =
        MatrixSolver<float>(point, stepwise, own.block).run(kNearly * options_.tolerance, limit);
    control_.steps += outcome.steps;
    if (outcome.status == Status::interrupted) outcome.status = control_.reason();
    double* values = own.values.data();
    double* errors = own.errors.data();
    bool* summed = own.summed.get();
    batch_.exact[p] = false;
    if (outcome.status == Status::converged && options_.certify)
      outcome.status = finish(point, outcome.steps, proceed, own, batch_.exact[p]);
    else
      for (Size k = 0; k < problem.n; ++k) values[k] = point.gradient(k) + problem.linear[k];
    if (control_.reason() != Status::converged) {
      outcome.status = control_.reason();
      batch_.exact[p] = false;
    }
    batch_.outcomes[p] = outcome;
    batch_.certificates[p] = {};
    const double multiplier = problem.multiplier();
    batch_.multipliers[p] = multiplier;
    if (outcome.status == Status::converged && options_.certify &&
        (!problem.two_sums() || multiplier > 0.0)) {
      const CertifiedPoint reached{table_, problem, own.beta.data()};
      const TableValues known{values, errors, summed};
      if (!problem.two_sums()) {
        batch_.certificates[p] = certify(reached, known);
      } else {
        const double budget = batch_.budgets[p], bound = second_sum_bound(reached, known, budget);
        if (problem.margins != nullptr) own.to_unit_margin(table_, multiplier);
        batch_.certificates[p] =
            with_second_sum(certify(reached, known), problem, multiplier, budget, bound);
      }
    }
    // The certificate counts the rounding of differences, too: of large targets it may exceed the
    // tolerance alone. (With margins it counts in another unit.)
    if (outcome.status == Status::converged && options_.certify && problem.margins == nullptr &&
        !(batch_.certificates[p].violation <= options_.tolerance)) {
      batch_.outcomes[p].status = Status::stalled;
      batch_.exact[p] = false;
    }
    own.give(batch_, p);
    if (table_.pieces() != nullptr) table_.pieces()->release(segments);
    control_.left -= problem.n;
  }

 private:
  // The polish, and K beta with bounds: converged where these prove that the tolerance is met, and
  // a polish that was begun came to its end.
  Status finish(TablePoint& point, long steps, const std::function<bool()>& proceed,
                ArrangedProblem& own, bool& exact) const {
    double* values = own.values.data();
    double* errors = own.errors.data();
    Status status = Status::stalled;
    Team team(batch_.count == 1 ? options_.threads : 1);  // several problems have a thread each
    for (const bool every : {false, true}) {
      NearMargin near(point, every, own.entries);
      const bool fits = near.entries() <= kMostEntries;
      if (!fits && options_.polish == PolishRule::always) return Status::stalled;
      const bool polish = fits && polish_pays(point, near, steps);
      if (polish) exact = polish_margin(point, near, options_.polish_limit, proceed);
      if (polish) near.evaluate(point.support());
      near.verify(team, values, errors);
      for (Size k = 0; k < point.problem().n; ++k) own.summed[k] = near.contains(k);
      const Extremes extremes = worst_extremes(point, near, values, errors);
      const double violation = extremes.violation(point.problem().equality);
      const double tolerance = point.problem().unit() * options_.tolerance;
      const bool proved = violation <= tolerance && exact == polish;
      status = proved ? Status::converged : Status::stalled;
      exact = exact && proved;
      if (verify_far(point, near, values, errors).empty()) return status;
      point.renew();  // some are nearer than they seemed: once more, with all in double precision
    }
    return status;
  }

  // Whether the polish takes at most a share of the work of the solve, in entries of few features:
  // a count, no clock, so that results can be repeated.
  bool polish_pays(const TablePoint& point, const NearMargin& near, long steps) const {
    const double n = double(point.problem().n), cost = table_.gram().source().entry_cost();
    double margin = 0.0;
    for (const Size k : near.members()) margin += point.is_free(k) ? 1.0 : 0.0;
    if (margin > double(options_.polish_limit)) return false;
    if (options_.polish != PolishRule::where_it_pays) return options_.polish == PolishRule::always;
    const double solve = kFixedWork + 0.5 * n * n * cost + double(steps) * n +
                         kDoubleCost * cost * double(near.entries());
    const double polish =
        kPolishRounds * kProductCost * margin * (margin * margin / 6.0 + double(near.size()));
    return polish <= kPolishShare * solve;
  }

  const KernelTable& table_;
  const Batch& batch_;
  const BatchOptions& options_;
  BatchControl& control_;
};

// Tells which rows the problems will share.
void announce(const Batch& batch, RowPieces& pieces) {
  for (Size p = 0; p < batch.count; ++p) {
    std::vector<char> found(pieces.count(), 0);
    for (std::int64_t k = batch.offsets[p]; k < batch.offsets[p + 1]; ++k)
      found[pieces.segment(Size(batch.members[k]))] = 1;
    std::vector<Size> segments;
    for (Size s = 0; s < found.size(); ++s)
      if (found[s] != 0) segments.push_back(s);
    pieces.expect(segments);
  }
}

// Calls work for all problems, each thread with memory that it keeps, on several threads; the
// calling one, which alone receives Ctrl-C, goes on polling while it waits for the last of the
// others.
void side_by_side(Size count, int threads, BatchControl& control,
                  const std::function<void(Size, ArrangedProblem&)>& work) {
  std::atomic<Size> next{0};
  FirstFailure failure;
  const auto serve = [&] {
    const auto work_off = [&] {
      ArrangedProblem own;
      for (Size p = next++; p < count; p = next++) work(p, own);
    };
    if (!failure.guard(work_off)) next = count;  // the others end with the problem they are at
  };
  std::mutex mutex;
  std::condition_variable ended;
  int running = 0;
  std::vector<std::thread> others;
  try {
    while (int(others.size()) + 1 < threads) {
      {
        std::lock_guard<std::mutex> lock(mutex);
        ++running;
      }
      others.emplace_back([&] {
        serve();
        std::lock_guard<std::mutex> lock(mutex);
        --running;
        ended.notify_one();
      });
    }
  } catch (const std::exception&) {  // no more threads: those started go on
    std::lock_guard<std::mutex> lock(mutex);
    --running;
  }
  serve();
  {
    std::unique_lock<std::mutex> lock(mutex);
    while (!ended.wait_for(lock, kPeriod, [&] { return running == 0; })) {
      lock.unlock();
      control.proceed();
      lock.lock();
    }
  }
  for (std::thread& other : others) other.join();
  failure.rethrow();
}

}  // namespace

void solve_batch(const KernelTable& table, const Batch& batch, const BatchOptions& options,
                 const std::function<bool(const Progress&)>& monitor) {
  BatchControl control(options.max_seconds, monitor);
  if (table.pieces() != nullptr) announce(batch, *table.pieces());
  double work = 0.0;
  for (Size p = 0; p < batch.count; ++p) {
    const Size n = batch.size(p);
    control.left += n;
    work += double(n) * double(n);
  }
  const BatchSolver solver(table, batch, options, control);
  const int useful = int(std::min<Size>(batch.count, Size(std::max(1, options.threads))));
  side_by_side(batch.count, work < kThreadWork ? 1 : useful, control,
               [&](Size p, ArrangedProblem& own) { solver.solve(p, own); });
}

}  // namespace widemargin
