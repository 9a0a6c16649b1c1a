// What every bind_*.cpp needs: nanobind, the array types, and the functions that register kernels with the module.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

void bind_count(nb::module_ &m);
void bind_store(nb::module_ &m);
void bind_score(nb::module_ &m);
void bind_staged(nb::module_ &m);
void bind_trees(nb::module_ &m);
void bind_loglinear(nb::module_ &m);
void bind_encode(nb::module_ &m);
void bind_sample(nb::module_ &m);
void bind_evolving(nb::module_ &m);
void bind_gaussian(nb::module_ &m);
void bind_changes(nb::module_ &m);
void bind_class_weights(nb::module_ &m);
void bind_conditional(nb::module_ &m);
void bind_folds(nb::module_ &m);
void bind_rules(nb::module_ &m);
void bind_forest(nb::module_ &m);
void bind_sums(nb::module_ &m);
void bind_pool(nb::module_ &m);
void bind_drift(nb::module_ &m);
