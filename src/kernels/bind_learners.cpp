// The second extension module: streams, what options ask for, forests, anytime and evolving models, Gaussian columns.
#include "bindings.hpp"

NB_MODULE(_learners, m) {
    m.doc() = "Compiled kernels of tanager for some learners: arrays in, arrays out.";
    begin_module();
    use_common_of_core();
    bind_drift(m);
    bind_evolving(m);
    bind_forest(m);
    bind_gaussian(m);
    bind_mixed_rows(m);
    bind_options(m);
    bind_staged(m);
    bind_stream(m);
}
