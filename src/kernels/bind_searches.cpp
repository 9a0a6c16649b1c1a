// The third extension module: networks, rules, and what else only some learners need.
#include "bindings.hpp"

NB_MODULE(_searches, m) {
    m.doc() = "Compiled kernels of tanager for searches: arrays in, arrays out.";
    begin_module();
    use_common_of_core();
    bind_changes(m);
    bind_class_weights(m);
    bind_conditional(m);
    bind_cuts(m);
    bind_factors(m);
    bind_folds(m);
    bind_loglinear(m);
    bind_pool(m);
    bind_rules(m);
    bind_sample(m);
    bind_sums(m);
    bind_trees(m);
}
