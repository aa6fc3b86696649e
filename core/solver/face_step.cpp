#include "solver/face_step.hpp"

#include <algorithm>
#include <limits>

namespace widemargin {

namespace {

constexpr Size kMostMembers = 1024;
constexpr double kMostLeaving = 0.2;  // of the factor: of more, it is made anew
constexpr double kRotation = 4.0;     // entries in the time of a rotation of one
constexpr double kTogether = 1e-12;   // of a step: members that reach their bounds as one

// Pivots below this share of the diagonal element are of dependent members: they do not move.
template <class Real>
constexpr double kIndependence = 100.0 * double(std::numeric_limits<Real>::epsilon());

double end_of(const MatrixProblem& problem, Size k, double beta, double step) {
  const double bound = step > 0.0 ? problem.upper[k] : problem.lower[k];
  const bool crosses = (beta < 0.0) != (bound < 0.0) && beta != 0.0 && bound != 0.0;
  return crosses && problem.stops_at_zero(Index(k)) ? 0.0 : bound;
}

}  // namespace

template <class Real>
bool FaceStep<Real>::suits(Size free_members) {
  return free_members <= kMostMembers;
}

template <class Real>
double FaceStep<Real>::first_work(Size free_members) {
  const double order = double(free_members);
  return order * order * order / 6.0;
}

template <class Real>
void FaceStep<Real>::take(MatrixPoint<Real>& point) {
  const MatrixProblem& problem = point.problem();
  if (problem.two_sums()) return;
  work_ = 0.0;
  update_factor(point);
  targets_.assign(point.betas(), point.betas() + problem.n);
  const Size least = problem.equality ? 2 : 1;
  while (members_.size() >= least) {
    const std::vector<Size> stopped = advance(problem, newton_step(problem.equality));
    if (stopped.empty()) break;
    for (Size s = stopped.size(); s-- > 0;) {
      remove(stopped[s]);
      slopes_.erase(slopes_.begin() + std::ptrdiff_t(stopped[s]));
    }
  }
  std::vector<Size> changed;
  std::vector<double> targets;
  for (Size k = 0; k < problem.n; ++k)
    if (targets_[k] != point.beta(k)) {
      changed.push_back(k);
      targets.push_back(targets_[k]);
    }
  point.move(changed, targets);
}

template <class Real>
void FaceStep<Real>::update_factor(const MatrixPoint<Real>& point) {
  std::vector<Size> leaving;
  for (Size a = 0; a < members_.size(); ++a)
    if (!point.is_free(members_[a])) leaving.push_back(a);
  if (double(leaving.size()) > kMostLeaving * double(members_.size()))
    factor_.clear(), members_.clear(), leaving.clear();
  for (Size s = leaving.size(); s-- > 0;) remove(leaving[s]);
  std::vector<char> present(point.problem().n, 0);
  for (const Size k : members_) present[k] = 1;
  for (Size k = 0; k < point.problem().n; ++k)
    if (point.is_free(k) && !present[k]) append(point, k);
  slopes_.clear();
  for (const Size k : members_)
    slopes_.push_back(point.growth_slope(k));  // of a free member, both slopes are the same
}

// Members that depend on those of the factor, in feature space, do not enter it.
template <class Real>
void FaceStep<Real>::append(const MatrixPoint<Real>& point, Size member) {
  const Size order = members_.size();
  const Real* row = point.rows().at(point.problem().members[member], 0);
  const Index* samples = point.problem().members;
  std::vector<double>& column = steps_;
  column.resize(order);
  for (Size a = 0; a < order; ++a) column[a] = double(row[samples[members_[a]]]);
  factor_.forward(column.data());
  work_ += 0.5 * double(order) * double(order);
  const double diagonal = double(row[samples[member]]);
  double pivot = diagonal;
  for (const double entry : column) pivot -= entry * entry;
  if (!(pivot > kIndependence<Real> * diagonal)) return;
  factor_.append(column.data(), pivot);
  members_.push_back(member);
}

template <class Real>
void FaceStep<Real>::remove(Size place) {
  const double behind = double(members_.size() - place);
  work_ += kRotation * 0.5 * behind * behind;
  factor_.remove(place);
  members_.erase(members_.begin() + std::ptrdiff_t(place));
}

// The step to the minimiser in `steps_`; returns the shift.
template <class Real>
double FaceStep<Real>::newton_step(bool equality) {
  const Size order = members_.size();
  work_ += (equality ? 2.0 : 1.0) * double(order) * double(order);
  steps_.resize(order), ones_.assign(order, 1.0);
  for (Size a = 0; a < order; ++a) steps_[a] = -slopes_[a];
  if (!equality) {
    factor_.solve(steps_.data());
    return 0.0;
  }
  factor_.solve(steps_.data(), ones_.data());
  double sum = 0.0, unit = 0.0;
  for (Size a = 0; a < order; ++a) sum += steps_[a], unit += ones_[a];
  const double shift = sum / unit;
  for (Size a = 0; a < order; ++a) steps_[a] -= shift * ones_[a];
  return shift;
}

// Goes as far as the box allows; returns the places of members that reach its end, rising.
template <class Real>
std::vector<Size> FaceStep<Real>::advance(const MatrixProblem& problem, double shift) {
  const Size order = members_.size();
  std::vector<double> room(order, kInfinity);
  double share = 1.0;
  for (Size a = 0; a < order; ++a) {
    const Size k = members_[a];
    if (steps_[a] == 0.0) continue;
    room[a] = (end_of(problem, k, targets_[k], steps_[a]) - targets_[k]) / steps_[a];
    share = std::min(share, room[a]);
  }
  std::vector<Size> stopped;
  for (Size a = 0; a < order; ++a) {
    const Size k = members_[a];
    const double end = end_of(problem, k, targets_[k], steps_[a]);
    slopes_[a] -= share * (slopes_[a] + shift);
    if (room[a] > share * (1.0 + kTogether)) {
      targets_[k] += share * steps_[a];
      continue;
    }
    targets_[k] = end;
    stopped.push_back(a);
  }
  return stopped;
}

template class FaceStep<float>;
template class FaceStep<double>;

}  // namespace widemargin
