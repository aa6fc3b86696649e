#include "solver/table_batch.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "solver/margin_polish.hpp"
#include "solver/near_margin.hpp"
#include "solver/table_solver.hpp"

namespace widemargin {

namespace {

constexpr long kStepsPerMember = 100;  // beyond it, pair steps creep: another method is faster
constexpr double kNearly = 0.97;       // of the tolerance: rounding must not lift what is proved
constexpr Size kMostEntries = Size(1) << 22;  // in double, that a thread holds for a problem
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

class BatchSolver {
 public:
  BatchSolver(const KernelTable& table, const Batch& batch, const BatchOptions& options,
              BatchControl& control)
      : table_(table), batch_(batch), options_(options), control_(control) {}

  void solve(Size p, std::vector<float>& block) const {
    const TableProblem problem = batch_.problem(p);
    const Size begin = Size(batch_.offsets[p]);
    const std::function<bool()> proceed = [this] { return control_.proceed(); };
    TablePoint point(table_, problem, batch_.beta + begin);
    const long creeping = kStepsPerMember * long(problem.n);
    const long limit = options_.max_steps < 0 ? creeping : std::min(creeping, options_.max_steps);
    Outcome outcome = TableSolver(point, proceed, block).run(kNearly * options_.tolerance, limit);
    control_.steps += outcome.steps;
    if (outcome.status == Status::interrupted) outcome.status = control_.reason();
    double* values = batch_.values + begin;
    double* errors = batch_.errors + begin;
    bool* summed = batch_.summed + begin;
    std::fill_n(errors, problem.n, kInfinity);
    std::fill_n(summed, problem.n, false);
    batch_.exact[p] = false;
    if (outcome.status == Status::converged && options_.certify)
      outcome.status =
          finish(point, outcome.steps, proceed, values, errors, summed, batch_.exact[p]);
    else
      for (Size k = 0; k < problem.n; ++k) values[k] = point.gradient(k) + problem.linear[k];
    if (control_.reason() != Status::converged) {
      outcome.status = control_.reason();
      batch_.exact[p] = false;
    }
    batch_.outcomes[p] = outcome;
    batch_.certificates[p] = {};
    if (outcome.status == Status::converged && options_.certify)
      batch_.certificates[p] = certify(point, {values, errors, summed});
    control_.left -= problem.n;
  }

 private:
  // The polish, and K beta with bounds: converged where these prove that the tolerance is met, and
  // a polish that was begun came to its end.
  Status finish(TablePoint& point, long steps, const std::function<bool()>& proceed, double* values,
                double* errors, bool* summed, bool& exact) const {
    Status status = Status::stalled;
    for (const bool every : {options_.every_value, true}) {
      NearMargin near(point, every);
      if (near.entries() > kMostEntries) return Status::stalled;
      const bool polish = polish_pays(point, near, steps);
      if (polish) exact = polish_margin(point, near, options_.polish_limit, proceed);
      near.evaluate(point.support());
      near.verify(values, errors);
      for (Size k = 0; k < point.problem().n; ++k) summed[k] = near.contains(k);
      const Extremes extremes = worst_extremes(point, near, values, errors);
      const double violation = extremes.violation(point.problem().equality);
      const bool proved = violation <= options_.tolerance && exact == polish;
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

// Calls work for all problems, each thread with a block of memory that it keeps, on several
// threads; the calling one, which alone hears Ctrl-C, goes on asking while it waits for the last of
// the others.
void side_by_side(Size count, int threads, BatchControl& control,
                  const std::function<void(Size, std::vector<float>&)>& work) {
  std::atomic<Size> next{0};
  const auto serve = [&] {
    std::vector<float> block;
    for (Size p = next++; p < count; p = next++) work(p, block);
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
  } catch (const std::system_error&) {  // the system gives no more: those there are will do
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
}

}  // namespace

TableProblem Batch::problem(Size p) const {
  const Size begin = Size(offsets[p]), n = Size(offsets[p + 1]) - begin;
  return {n, members + begin, linear + begin, lower + begin, upper + begin, equality, totals[p]};
}

void solve_batch(const KernelTable& table, const Batch& batch, const BatchOptions& options,
                 const std::function<bool(const Progress&)>& monitor) {
  BatchControl control(options.max_seconds, monitor);
  double work = 0.0;
  for (Size p = 0; p < batch.count; ++p) {
    const Size n = batch.problem(p).n;
    control.left += n;
    work += double(n) * double(n);
  }
  const BatchSolver solver(table, batch, options, control);
  const int useful = int(std::min<Size>(batch.count, Size(std::max(1, options.threads))));
  side_by_side(batch.count, work < kThreadWork ? 1 : useful, control,
               [&](Size p, std::vector<float>& block) { solver.solve(p, block); });
}

}  // namespace widemargin
