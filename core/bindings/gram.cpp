#include "kernel/gram.hpp"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <cmath>
#include <stdexcept>

#include "bindings/arrays.hpp"
#include "kernel/few_rows.hpp"
#include "kernel/rounding.hpp"
#include "kernel/symmetric_products.hpp"

namespace widemargin {

namespace {

KernelSpec make_kernel(const std::string& kind, double gamma, double coef0, int degree) {
  KernelSpec kernel{KernelKind::linear, gamma, coef0, degree};
  if (kind == "polynomial")
    kernel.kind = KernelKind::polynomial;
  else if (kind == "gaussian")
    kernel.kind = KernelKind::gaussian;
  else if (kind == "laplacian")
    kernel.kind = KernelKind::laplacian;
  else if (kind == "sigmoid")
    kernel.kind = KernelKind::sigmoid;
  else if (kind != "linear")
    throw std::invalid_argument("unknown kernel " + kind);
  return kernel;
}

using GramPtr = std::shared_ptr<Gram>;

GramPtr from_samples(std::unique_ptr<Samples> samples, const KernelSpec& kernel, Size bytes,
                     int threads) {
  return std::make_shared<Gram>(std::make_shared<SampleSource>(std::move(samples), kernel), bytes,
                                threads);
}

template <class T>
GramPtr dense(In2<T> X, const std::string& kind, double gamma, double coef0, int degree, Size bytes,
              int threads) {
  nb::gil_scoped_release release;
  return from_samples(std::make_unique<Samples>(X.data(), X.shape(0), X.shape(1)),
                      make_kernel(kind, gamma, coef0, degree), bytes, threads);
}

// The CSR structure is checked by the caller (gram.py): indices within the features, offsets
// rising.
template <class T>
std::unique_ptr<Samples> csr_samples(const In<T>& data, const In<Index>& indices,
                                     const In<std::int64_t>& offsets, Size features) {
  return std::make_unique<Samples>(data.data(), indices.data(), offsets.data(),
                                   offsets.shape(0) - 1, features);
}

template <class T>
GramPtr sparse(In<T> data, In<Index> indices, In<std::int64_t> offsets, Size features,
               const std::string& kind, double gamma, double coef0, int degree, Size bytes,
               int threads) {
  nb::gil_scoped_release release;
  return from_samples(csr_samples(data, indices, offsets, features),
                      make_kernel(kind, gamma, coef0, degree), bytes, threads);
}

template <class T>
GramPtr matrix(In2<T> K, Size bytes, int threads) {
  return std::make_shared<Gram>(std::make_shared<MatrixSource<T>>(K.data(), K.shape(0)), bytes,
                                threads);
}

GramPtr callback(nb::callable function, Size n, Size bytes) {
  // The function is released with the GIL held, whichever thread drops the last reference.
  std::shared_ptr<nb::callable> held(new nb::callable(std::move(function)), [](nb::callable* f) {
    nb::gil_scoped_acquire acquire;
    delete f;
  });
  FillFunction fill = [held](const Index* rows, Size n_rows, const Index* columns, Size n_columns,
                             double* out) {
    nb::gil_scoped_acquire acquire;
    // The arrays are views that live as long as the call: the owner is a placeholder, without
    // which nanobind would copy them.
    const nb::capsule borrowed(out, [](void*) noexcept {});
    const auto view = [&](const Index* data, Size size) {
      return nb::ndarray<nb::numpy, const Index, nb::ndim<1>>(data, {size}, borrowed);
    };
    (*held)(view(rows, n_rows), view(columns, n_columns),
            nb::ndarray<nb::numpy, double, nb::ndim<2>>(out, {n_rows, n_columns}, borrowed));
  };
  return std::make_shared<Gram>(std::make_shared<CallbackSource>(std::move(fill), n), bytes, 1);
}

nb::dict entries_by_purpose(const Gram& gram) {
  nb::dict out;
  for (Size k = 0; k < kPurposes.size(); ++k) out[kPurposes[k]] = gram.log().entries(Purpose(k));
  return out;
}

nb::dict seconds_by_activity(const Gram& gram) {
  nb::dict out;
  for (Size k = 0; k < kActivities.size(); ++k)
    out[kActivities[k]] = gram.log().seconds(Activity(k));
  return out;
}

void check_indices(const In<Index>& indices, Size n, const char* name) {
  for (Size k = 0; k < indices.shape(0); ++k)
    if (indices.data()[k] < 0 || Size(indices.data()[k]) >= n)
      throw std::out_of_range(std::string(name) + " refers to a sample that is not there");
}

template <class Real>
void rows(Gram& gram, In<Index> indices, In<Index> columns, InOut2<Real> out) {
  check_indices(indices, gram.size(), "indices");
  check_indices(columns, gram.size(), "columns");
  nb::gil_scoped_release release;
  gram.rows(indices.data(), indices.shape(0), columns.data(), columns.shape(0), out.data());
}

void add_rows(Gram& gram, In<Index> indices, In<double> weights, InOut<double> out) {
  check_indices(indices, gram.size(), "indices");
  nb::gil_scoped_release release;
  gram.add_rows(indices.data(), weights.data(), indices.shape(0), out.data());
}

template <class Real>
void times(Gram& gram, In<Index> indices, In<double> weights, In<Index> columns,
           InOut<double> out) {
  check_indices(indices, gram.size(), "indices");
  check_indices(columns, gram.size(), "columns");
  nb::gil_scoped_release release;
  gram.times<Real>(indices.data(), weights.data(), indices.shape(0), columns.data(),
                   columns.shape(0), out.data());
}

// Of several vectors: weights and out have a row for each.
template <class Real>
void several_times(Gram& gram, In<Index> indices, In2<double> weights, In<Index> columns,
                   InOut2<double> out) {
  check_indices(indices, gram.size(), "indices");
  check_indices(columns, gram.size(), "columns");
  if (weights.shape(1) != indices.shape(0) || out.shape(0) != weights.shape(0) ||
      out.shape(1) != columns.shape(0))
    throw std::invalid_argument("weights and out must fit the indices and columns");
  nb::gil_scoped_release release;
  gram.several_times<Real>(indices.data(), indices.shape(0), weights.data(), weights.shape(0),
                           columns.data(), columns.shape(0), out.data());
}

// Of one vector, with bounds on the rounding.
template <class Real>
void bounded_times(Gram& gram, In<Index> indices, In<double> weights, In<Index> columns,
                   InOut<double> out, InOut<double> error) {
  check_indices(indices, gram.size(), "indices");
  check_indices(columns, gram.size(), "columns");
  nb::gil_scoped_release release;
  gram.bounded_times<Real>(indices.data(), weights.data(), indices.shape(0), columns.data(),
                           columns.shape(0), out.data(), error.data());
}

// Calls with a team and a function that returns false once a signal has arrived; the signal's
// exception is raised afterwards.
template <class Call>
void until_signal(Gram& gram, const Call& call) {
  bool ended = false;
  {
    nb::gil_scoped_release release;
    Team team(gram.threads());
    ended = call(team, [] {
      nb::gil_scoped_acquire acquire;
      return PyErr_CheckSignals() == 0;
    });
  }
  if (!ended) throw nb::python_error();
}

void products(Gram& gram, In<Index> indices, In2<double> weights, InOut<double> values,
              InOut<double> error, InOut<double> squares) {
  check_indices(indices, gram.size(), "indices");
  const Size n = indices.shape(0);
  if (weights.shape(1) != n || squares.shape(0) != weights.shape(0) || values.shape(0) != n ||
      error.shape(0) != n)
    throw std::invalid_argument("weights, values, error and squares must fit the indices");
  until_signal(gram, [&](Team& team, const auto& proceed) {
    return symmetric_products(gram, team, indices.data(), n, weights.data(), weights.shape(0),
                              proceed, values.data(), error.data(), squares.data());
  });
}

// Of several vectors, on all of the indices.
void sums(Gram& gram, In<Index> indices, In2<double> weights, InOut2<double> values,
          InOut2<double> error) {
  check_indices(indices, gram.size(), "indices");
  const Size n = indices.shape(0), n_vectors = weights.shape(0);
  for (const auto& table : {values, error})
    if (weights.shape(1) != n || table.shape(0) != n_vectors || table.shape(1) != n)
      throw std::invalid_argument("weights, values and error must fit the indices");
  until_signal(gram, [&](Team& team, const auto& proceed) {
    return symmetric_sums(gram, team, indices.data(), n, weights.data(), n_vectors, proceed,
                          values.data(), error.data());
  });
}

// sum_j weights[j] K(z, x_j) for other samples z, with bounds on the rounding if asked for, or all
// the entries K(x_j, z).
template <class Real>
void cross_samples(Gram& gram, Samples& others, const double* weights, double* sums, double* error,
                   Real* entries) {
  const auto* source = dynamic_cast<const SampleSource*>(&gram.source());
  if (source == nullptr) throw std::invalid_argument("cross needs a Gram made of samples");
  others.transform(source->samples().shift(), source->samples().scale());
  Team team(gram.threads());
  std::vector<Index> all(gram.size()), columns(others.size());
  for (Size k = 0; k < all.size(); ++k) all[k] = Index(k);
  for (Size k = 0; k < columns.size(); ++k) columns[k] = Index(k);
  std::vector<Real*> store(entries ? all.size() : 0);
  for (Size k = 0; k < store.size(); ++k) store[k] = entries + k * columns.size();
  Sweep<Real> work{
      all.data(), all.size(), columns.data(), columns.size(), entries ? store.data() : nullptr,
      weights,    sums};
  std::vector<double> sizes(error ? columns.size() : 0);
  if (error) work.sizes = sizes.data();
  sweep_samples(source->kernel(), source->samples(), others, work, team);
  if (error) rounding_of_samples(source->kernel(), source->samples(), others, work, error);
  gram.log().count(Purpose::other, all.size() * columns.size());
}

template <class T, class Real>
void cross_dense(Gram& gram, In2<T> Z, In<double> weights, InOut<double> out) {
  nb::gil_scoped_release release;
  Samples others(Z.data(), Z.shape(0), Z.shape(1));
  cross_samples<Real>(gram, others, weights.data(), out.data(), nullptr, nullptr);
}

template <class T, class Real>
void cross_sparse(Gram& gram, In<T> data, In<Index> indices, In<std::int64_t> offsets,
                  Size features, In<double> weights, InOut<double> out) {
  nb::gil_scoped_release release;
  Samples others(data.data(), indices.data(), offsets.data(), offsets.shape(0) - 1, features);
  cross_samples<Real>(gram, others, weights.data(), out.data(), nullptr, nullptr);
}

template <class T, class Real>
void bounded_cross_dense(Gram& gram, In2<T> Z, In<double> weights, InOut<double> out,
                         InOut<double> error) {
  nb::gil_scoped_release release;
  Samples others(Z.data(), Z.shape(0), Z.shape(1));
  cross_samples<Real>(gram, others, weights.data(), out.data(), error.data(), nullptr);
}

template <class T, class Real>
void bounded_cross_sparse(Gram& gram, In<T> data, In<Index> indices, In<std::int64_t> offsets,
                          Size features, In<double> weights, InOut<double> out,
                          InOut<double> error) {
  nb::gil_scoped_release release;
  Samples others(data.data(), indices.data(), offsets.data(), offsets.shape(0) - 1, features);
  cross_samples<Real>(gram, others, weights.data(), out.data(), error.data(), nullptr);
}

template <class T, class Real>
void cross_rows_dense(Gram& gram, In2<T> Z, InOut2<Real> out) {
  nb::gil_scoped_release release;
  Samples others(Z.data(), Z.shape(0), Z.shape(1));
  cross_samples<Real>(gram, others, nullptr, nullptr, nullptr, out.data());
}

template <class T, class Real>
void cross_rows_sparse(Gram& gram, In<T> data, In<Index> indices, In<std::int64_t> offsets,
                       Size features, InOut2<Real> out) {
  nb::gil_scoped_release release;
  Samples others(data.data(), indices.data(), offsets.data(), offsets.shape(0) - 1, features);
  cross_samples<Real>(gram, others, nullptr, nullptr, nullptr, out.data());
}

template <class T>
void entries_of_few(In2<double> Z, In2<T> X, const std::string& kind, double gamma, double coef0,
                    int degree, InOut2<double> out) {
  if (Z.shape(1) != X.shape(1) || out.shape(0) != Z.shape(0) || out.shape(1) != X.shape(0))
    throw std::invalid_argument("samples differ in their features, or out has another shape");
  few_rows(make_kernel(kind, gamma, coef0, degree), Z.data(), Z.shape(0), X.data(), X.shape(0),
           X.shape(1), out.data());
}

template <class T>
void bind_value(nb::module_& module, nb::class_<Gram>& gram) {
  module.def("entries_of_few", &entries_of_few<T>, nb::arg("Z").noconvert(),
             nb::arg("X").noconvert(), nb::arg("kind"), nb::arg("gamma"), nb::arg("coef0"),
             nb::arg("degree"), nb::arg("out").noconvert());
  module.def("dense_gram", &dense<T>, nb::arg("X").noconvert(), nb::arg("kind"), nb::arg("gamma"),
             nb::arg("coef0"), nb::arg("degree"), nb::arg("cache_bytes"), nb::arg("threads"));
  module.def("sparse_gram", &sparse<T>, nb::arg("data").noconvert(), nb::arg("indices").noconvert(),
             nb::arg("offsets").noconvert(), nb::arg("features"), nb::arg("kind"), nb::arg("gamma"),
             nb::arg("coef0"), nb::arg("degree"), nb::arg("cache_bytes"), nb::arg("threads"));
  module.def("matrix_gram", &matrix<T>, nb::arg("K").noconvert(), nb::arg("cache_bytes"),
             nb::arg("threads"));
  gram.def("rows", &rows<T>, nb::arg("indices").noconvert(), nb::arg("columns").noconvert(),
           nb::arg("out").noconvert());
  gram.def("cross32", &cross_dense<T, float>, nb::arg("Z").noconvert(),
           nb::arg("weights").noconvert(), nb::arg("out").noconvert());
  gram.def("cross64", &cross_dense<T, double>, nb::arg("Z").noconvert(),
           nb::arg("weights").noconvert(), nb::arg("out").noconvert());
  gram.def("cross32", &cross_sparse<T, float>, nb::arg("data").noconvert(),
           nb::arg("indices").noconvert(), nb::arg("offsets").noconvert(), nb::arg("features"),
           nb::arg("weights").noconvert(), nb::arg("out").noconvert());
  gram.def("cross64", &cross_sparse<T, double>, nb::arg("data").noconvert(),
           nb::arg("indices").noconvert(), nb::arg("offsets").noconvert(), nb::arg("features"),
           nb::arg("weights").noconvert(), nb::arg("out").noconvert());
  gram.def("bounded_cross32", &bounded_cross_dense<T, float>, nb::arg("Z").noconvert(),
           nb::arg("weights").noconvert(), nb::arg("out").noconvert(),
           nb::arg("error").noconvert());
  gram.def("bounded_cross32", &bounded_cross_sparse<T, float>, nb::arg("data").noconvert(),
           nb::arg("indices").noconvert(), nb::arg("offsets").noconvert(), nb::arg("features"),
           nb::arg("weights").noconvert(), nb::arg("out").noconvert(),
           nb::arg("error").noconvert());
  gram.def("bounded_cross64", &bounded_cross_dense<T, double>, nb::arg("Z").noconvert(),
           nb::arg("weights").noconvert(), nb::arg("out").noconvert(),
           nb::arg("error").noconvert());
  gram.def("bounded_cross64", &bounded_cross_sparse<T, double>, nb::arg("data").noconvert(),
           nb::arg("indices").noconvert(), nb::arg("offsets").noconvert(), nb::arg("features"),
           nb::arg("weights").noconvert(), nb::arg("out").noconvert(),
           nb::arg("error").noconvert());
  gram.def("cross_rows", &cross_rows_dense<T, float>, nb::arg("Z").noconvert(),
           nb::arg("out").noconvert());
  gram.def("cross_rows", &cross_rows_dense<T, double>, nb::arg("Z").noconvert(),
           nb::arg("out").noconvert());
  gram.def("cross_rows", &cross_rows_sparse<T, float>, nb::arg("data").noconvert(),
           nb::arg("indices").noconvert(), nb::arg("offsets").noconvert(), nb::arg("features"),
           nb::arg("out").noconvert());
  gram.def("cross_rows", &cross_rows_sparse<T, double>, nb::arg("data").noconvert(),
           nb::arg("indices").noconvert(), nb::arg("offsets").noconvert(), nb::arg("features"),
           nb::arg("out").noconvert());
}

}  // namespace

void bind_gram(nb::module_& module) {
  nb::class_<Gram> gram(module, "Gram");
  gram.def_prop_ro("size", &Gram::size)
      .def_prop_ro("evaluated", [](const Gram& self) { return self.log().evaluated(); })
      .def_prop_ro("entries", &entries_by_purpose)
      .def_prop_ro("seconds", &seconds_by_activity)
      .def_prop_ro("single_precision_suffices",
                   [](const Gram& self) { return self.source().single_precision_suffices(); })
      .def(
          "diagonal",
          [](Gram& self, In<Index> indices, InOut<double> out) {
            check_indices(indices, self.size(), "indices");
            nb::gil_scoped_release release;
            self.source().diagonal(indices.data(), indices.shape(0), out.data());
          },
          nb::arg("indices").noconvert(), nb::arg("out").noconvert())
      .def(
          "magnitudes",
          [](Gram& self, In<Index> indices, InOut<double> out) {
            check_indices(indices, self.size(), "indices");
            nb::gil_scoped_release release;
            self.source().magnitudes(indices.data(), indices.shape(0), out.data());
          },
          nb::arg("indices").noconvert(), nb::arg("out").noconvert())
      .def("times", &times<double>, nb::arg("indices").noconvert(), nb::arg("weights").noconvert(),
           nb::arg("columns").noconvert(), nb::arg("out").noconvert())
      .def("several_times32", &several_times<float>, nb::arg("indices").noconvert(),
           nb::arg("weights").noconvert(), nb::arg("columns").noconvert(),
           nb::arg("out").noconvert())
      .def("several_times64", &several_times<double>, nb::arg("indices").noconvert(),
           nb::arg("weights").noconvert(), nb::arg("columns").noconvert(),
           nb::arg("out").noconvert())
      .def("bounded_times32", &bounded_times<float>, nb::arg("indices").noconvert(),
           nb::arg("weights").noconvert(), nb::arg("columns").noconvert(),
           nb::arg("out").noconvert(), nb::arg("error").noconvert())
      .def("bounded_times64", &bounded_times<double>, nb::arg("indices").noconvert(),
           nb::arg("weights").noconvert(), nb::arg("columns").noconvert(),
           nb::arg("out").noconvert(), nb::arg("error").noconvert())
      .def("products", &products, nb::arg("indices").noconvert(), nb::arg("weights").noconvert(),
           nb::arg("values").noconvert(), nb::arg("error").noconvert(),
           nb::arg("squares").noconvert())
      .def("sums", &sums, nb::arg("indices").noconvert(), nb::arg("weights").noconvert(),
           nb::arg("values").noconvert(), nb::arg("error").noconvert())
      .def("add_rows", &add_rows, nb::arg("indices").noconvert(), nb::arg("weights").noconvert(),
           nb::arg("out").noconvert())
      .def(
          "release", [](Gram& self) { self.release(); }, nb::call_guard<nb::gil_scoped_release>())
      .def(
          "subset",
          [](const Gram& self, In<Index> indices, Size bytes, int threads) {
            check_indices(indices, self.size(), "indices");
            return self.subset(
                std::vector<Index>(indices.data(), indices.data() + indices.shape(0)), bytes,
                threads);
          },
          nb::arg("indices").noconvert(), nb::arg("cache_bytes"), nb::arg("threads"));
  bind_value<float>(module, gram);
  bind_value<double>(module, gram);
  module.def("callback_gram", &callback, nb::arg("function"), nb::arg("n"), nb::arg("cache_bytes"));
}

}  // namespace widemargin
