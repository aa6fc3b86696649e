// Memory of what the process keeps between fits.
#include "memory/slab.hpp"

#include "bindings/arrays.hpp"

namespace widemargin {

namespace {

// Its contents are arbitrary.
nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>> slab(Size bytes) {
  auto* owned = new Slab(bytes);
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<Slab*>(p); });
  return {static_cast<std::uint8_t*>(owned->data()), {bytes}, owner};
}

}  // namespace

void bind_slab(nb::module_& module) {
  module.def("slab", &slab, nb::arg("bytes"));
  module.def("release_kept_slabs", &release_kept_slabs);
  module.def("kept_slab_bytes", &kept_slab_bytes);
}

}  // namespace widemargin
