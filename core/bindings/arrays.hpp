// Array types at the seam: contiguous, exact dtype, never converted silently.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <utility>
#include <vector>

#include "common.hpp"

namespace nb = nanobind;

namespace widemargin {

template <class T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using InOut = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using In2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using InOut2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// A numpy array that owns what was the vector's.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> as_array(std::vector<T> values) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T, nb::ndim<1>>(owned->data(), {owned->size()}, owner);
}

}  // namespace widemargin
