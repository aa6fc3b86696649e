// Which slot a feature has among those of a few sparse rows; 0 for all that they lack.
#pragma once

#include <cstdlib>
#include <memory>
#include <new>

#include "common.hpp"

namespace widemargin {

// As long as the features are many. Large arrays that come cleared are pages of the system, there
// once they are touched: of 2^27 features those that rows have, and no time is spent on the rest.
class Slots {
 public:
  Slots() = default;
  explicit Slots(Size features)
      : size_(features), slots_(static_cast<Index*>(std::calloc(features, sizeof(Index)))) {
    if (slots_ == nullptr && features > 0) throw std::bad_alloc();
  }

  Size size() const { return size_; }
  Index* data() const { return slots_.get(); }  // nullptr where there are none
  Index& operator[](Size feature) { return slots_.get()[feature]; }

 private:
  struct Free {
    void operator()(Index* slots) const { std::free(slots); }
  };
  Size size_ = 0;
  std::unique_ptr<Index, Free> slots_;
};

}  // namespace widemargin
