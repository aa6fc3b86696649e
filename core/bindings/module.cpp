// The compiled module. Only this folder includes Python.
#include <nanobind/nanobind.h>

#include "memory/slab.hpp"
#include "simd/dispatch.hpp"

namespace nb = nanobind;

namespace widemargin {
void bind_class_pairs(nb::module_& module);
void bind_dense(nb::module_& module);
void bind_gram(nb::module_& module);
void bind_path(nb::module_& module);
void bind_slab(nb::module_& module);
void bind_solvers(nb::module_& module);
void bind_subgradient(nb::module_& module);
void bind_tables(nb::module_& module);
void bind_text(nb::module_& module);
}  // namespace widemargin

// What the process has one of is made now: one that is forked while another thread makes it, in its
// first fit, would wait for that thread for ever.
static void make_what_is_shared() {
  widemargin::routines<float>();
  widemargin::routines<double>();
  widemargin::kept_slab_bytes();
}

NB_MODULE(_core, module) {
  make_what_is_shared();
  widemargin::bind_class_pairs(module);
  widemargin::bind_dense(module);
  widemargin::bind_gram(module);
  widemargin::bind_path(module);
  widemargin::bind_slab(module);
  widemargin::bind_solvers(module);
  widemargin::bind_subgradient(module);
  widemargin::bind_tables(module);
  widemargin::bind_text(module);
  module.def("target", &widemargin::target_name);
}
