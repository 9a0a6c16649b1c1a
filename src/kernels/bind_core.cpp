// The first extension module: what every table and every answer needs. Each bind_*.cpp checks what Python hands over
// and calls kernels that know no Python.
#include "bindings.hpp"

namespace core_bindings {
namespace {

void watch(nb::object callable) {
    PyObject *before = common().watcher;
    common().watcher = callable.is_none() ? nullptr : callable.release().ptr();
    Py_XDECREF(before);
}

}  // namespace
}  // namespace core_bindings

NB_MODULE(_core, m) {
    m.doc() = "Compiled kernels of tanager that every model needs: arrays in, arrays out.";
    begin_module();
    m.attr("_common") = nb::capsule(&common(), "tanager._common");
    m.def(
        "interrupt_checks", [] { return common().n_checks->load(); },
        "How often kernels in the main thread have looked whether the user wants to stop.");
    m.def(
        "check_interrupts",
        [](std::int64_t n) {
            Released released;
            for (std::int64_t k = 0; k < n; ++k) tanager::check_interrupt();
        },
        nb::arg("n"), "Look so often whether the user wants to stop, and do nothing else: to measure what it costs.");
    m.def("watch", &core_bindings::watch, nb::arg("callable").none(),
          "Call this, some times a second, with what is done and what is to do in long calls of the main thread.");
    bind_count(m);
    bind_store(m);
    bind_score(m);
    bind_encode(m);
}
