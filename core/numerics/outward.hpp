// Sums that are rounded outward: what a certificate adds up is on the safe side.
#pragma once

#include <cmath>

namespace widemargin {

constexpr double kUnit = 0x1p-53;        // unit roundoff of double precision
constexpr double kTerms = 16.0 * kUnit;  // of the roundings in a term, and of the sum of terms
constexpr double kSumLeft = 0x1p-60;     // of the sizes: what a compensated sum leaves, at most
constexpr double kFew = 4.0 * kUnit;     // of few operations on sums

// A sum as if in twice the precision, rounded once (Ogita, Rump and Oishi 2005, Sum2): off by at
// most kUnit of itself and (n kUnit)^2 of the sizes of its n terms.
class Sum {
 public:
  void add(double term) { add(term, std::abs(term)); }
  // `size` is of the numbers that were rounded to make the term, at least its own.
  void add(double term, double size) {
    const double total = value_ + term, back = total - value_;
    error_ += (value_ - (total - back)) + (term - back);
    value_ = total;
    sizes_ += size;
  }
  double value() const { return value_ + error_; }
  double sizes() const { return sizes_; }
  // At least the sum of terms that each may be off by a few roundings.
  double above() const { return value() + kTerms * sizes_; }
  // How far off the value is, at most, where the terms are as they are.
  double rounding() const { return kFew * std::abs(value()) + kSumLeft * sizes_; }

 private:
  double value_ = 0.0, error_ = 0.0, sizes_ = 0.0;
};

}  // namespace widemargin
