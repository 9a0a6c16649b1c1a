// What every bind_*.cpp needs: nanobind, the array types, and the functions that register kernels with the module.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

void bind_encode(nb::module_& m);
