// The one extension module. Each bind_*.cpp checks what Python hands over and calls kernels that know no Python.
#include "bindings.hpp"
#include "work_done.hpp"

namespace {
unsigned long main_thread = 0;
PyObject *watcher = nullptr;  // called with what is done of a call, and all that is to do; null: nobody watches

void watch(nb::object callable) {
    PyObject *before = watcher;
    watcher = callable.is_none() ? nullptr : callable.release().ptr();
    Py_XDECREF(before);
}

void tell_watcher() {
    const std::int64_t total = tanager::WorkDone::total;
    if (watcher == nullptr || total == 0) return;
    nb::borrow<nb::object>(watcher)(tanager::WorkDone::done.load(), total);
}
}  // namespace

void remember_main_thread() {
    main_thread = nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
}

bool Released::in_main_thread() { return PyThread_get_thread_ident() == main_thread; }

void Released::ask_python() {
    nb::gil_scoped_acquire held;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    tell_watcher();
}

NB_MODULE(_kernels, m) {
    m.doc() = "Compiled kernels of tanager: arrays in, arrays out.";
    nb::set_leak_warnings(false);  // models that live until the interpreter ends are no leak
    remember_main_thread();
    m.def(
        "interrupt_checks", [] { return tanager::Call::n_checks.load(); },
        "How often kernels in the main thread have looked whether the user wants to stop.");
    m.def(
        "check_interrupts",
        [](std::int64_t n) {
            Released released;
            for (std::int64_t k = 0; k < n; ++k) tanager::check_interrupt();
        },
        nb::arg("n"), "Look so often whether the user wants to stop, and do nothing else: to measure what it costs.");
    m.def("watch", &watch, nb::arg("callable").none(),
          "Call this, some times a second, with what is done and what is to do in long calls of the main thread.");
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
