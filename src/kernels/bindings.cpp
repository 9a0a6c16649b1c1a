// The one extension module. Each bind_*.cpp checks what Python hands over and calls kernels that know no Python.
#include "bindings.hpp"

namespace {
unsigned long main_thread = 0;
}

void remember_main_thread() {
    main_thread = nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
}

bool Released::in_main_thread() { return PyThread_get_thread_ident() == main_thread; }

void Released::ask_python() {
    nb::gil_scoped_acquire held;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

NB_MODULE(_kernels, m) {
    m.doc() = "Compiled kernels of tanager: arrays in, arrays out.";
    nb::set_leak_warnings(false);  // models that live until the interpreter ends are no leak
    remember_main_thread();
    bind_count(m);
    bind_store(m);
    bind_score(m);
    bind_staged(m);
    bind_trees(m);
    bind_loglinear(m);
    bind_encode(m);
    bind_sample(m);
    bind_evolving(m);
    bind_gaussian(m);
    bind_changes(m);
    bind_class_weights(m);
    bind_conditional(m);
    bind_folds(m);
    bind_rules(m);
    bind_forest(m);
    bind_sums(m);
    bind_pool(m);
    bind_drift(m);
}
