// Positions and samples are both small integers; as different types they cannot be mixed up.
#pragma once

#include <vector>

#include "common.hpp"

namespace widemargin {

// A place in an ordered list of samples: the active samples of a solve, which are the columns of
// its row cache, or the margin set of a path. A sample itself is an Index, or a row of the path.
enum class Position : Size {};

// All positions of a list, in order: for (const Position p : Positions(count)).
class Positions {
 public:
  class Iterator {
   public:
    explicit Iterator(Size at) : at_(at) {}
    Position operator*() const { return Position(at_); }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    Size at_;
  };

  explicit Positions(Size count) : count_(count) {}
  Iterator begin() const { return Iterator(0); }
  Iterator end() const { return Iterator(count_); }

 private:
  Size count_;
};

// A vector with one entry per position, and no other index.
template <class T>
class ByPosition {
 public:
  ByPosition() = default;
  ByPosition(Size count, const T& value) : values_(count, value) {}

  T& operator[](Position p) { return values_[Size(p)]; }
  const T& operator[](Position p) const { return values_[Size(p)]; }
  Size size() const { return values_.size(); }
  void resize(Size count) { values_.resize(count); }
  void push_back(const T& value) { values_.push_back(value); }
  void erase(Position p) { values_.erase(values_.begin() + std::ptrdiff_t(p)); }
  T* data() { return values_.data(); }
  const T* data() const { return values_.data(); }
  Positions positions() const { return Positions(values_.size()); }
  const std::vector<T>& values() const { return values_; }

 private:
  std::vector<T> values_;
};

}  // namespace widemargin
