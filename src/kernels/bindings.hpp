// What every bind_*.cpp needs: nanobind, the array types, and the functions that register kernels with a module.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "cpu.hpp"
#include "interrupt.hpp"

namespace nb = nanobind;

// Lets other threads of Python run while a kernel works, and Ctrl-C end it. Not for kernels that change what Python
// holds as they go: those release the GIL alone.
class Released {
  public:
    Released() : call_(in_main_thread() ? &ask_python : nullptr) {}

  private:
    // Declared in this order, so that no kernel works without the GIL being free, nor asks without a call.
    nb::gil_scoped_release released_;
    tanager::Call call_;

    static bool in_main_thread();  // where alone Python handles signals
    static void ask_python();
};

// There are three modules, and one of each of these: `_core` has them, and hands them over to the others.
struct Common {
    std::atomic<tanager::CpuLevel> *cpu_level;
    std::atomic<std::int64_t> *n_checks;
    PyObject *watcher;  // called with what is done of a call, and all that is to do; null: nobody watches
};
Common &common();
void use_common_of_core();  // in place of our own
void begin_module();        // what all modules do first

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
void bind_cuts(nb::module_ &m);
void bind_factors(nb::module_ &m);
void bind_folds(nb::module_ &m);
void bind_rules(nb::module_ &m);
void bind_forest(nb::module_ &m);
void bind_sums(nb::module_ &m);
void bind_pool(nb::module_ &m);
void bind_drift(nb::module_ &m);
void bind_stream(nb::module_ &m);
void bind_mixed_rows(nb::module_ &m);
void bind_options(nb::module_ &m);
