// What all modules are made with: the question whether the user wants to stop, and who watches.
#include "bindings.hpp"

#include "work_done.hpp"

namespace {
unsigned long main_thread = 0;
Common *used = nullptr;

void tell_watcher() {
    const std::int64_t total = tanager::WorkDone::total;
    if (common().watcher == nullptr || total == 0) return;
    nb::borrow<nb::object>(common().watcher)(tanager::WorkDone::done.load(), total);
}
}  // namespace

Common &common() {
    static Common own{&tanager::chosen_cpu_level(), tanager::Call::n_checks, nullptr};
    return used ? *used : own;
}

void use_common_of_core() {
    const auto given = nb::cast<nb::capsule>(nb::module_::import_("tanager._core").attr("_common"));
    used = static_cast<Common *>(given.data("tanager._common"));
    tanager::use_cpu_level(used->cpu_level);
    tanager::Call::n_checks = used->n_checks;
}

void begin_module() {
    nb::set_leak_warnings(false);  // models that live until the interpreter ends are no leak
    main_thread = nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
}

bool Released::in_main_thread() { return PyThread_get_thread_ident() == main_thread; }

void Released::ask_python() {
    nb::gil_scoped_acquire held;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    tell_watcher();
}
