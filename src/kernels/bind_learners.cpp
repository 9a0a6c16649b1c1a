// The second extension module: forests, anytime and evolving models, Gaussian columns, drift.
#include "bindings.hpp"

NB_MODULE(_learners, m) {
    m.doc() = "Compiled kernels of tanager for some learners: arrays in, arrays out.";
    begin_module();
    use_common_of_core();
    bind_drift(m);
    bind_evolving(m);
    bind_forest(m);
    bind_gaussian(m);
    bind_staged(m);
}
