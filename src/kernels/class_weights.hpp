// Weights of classes that make few errors: the best change of the weight of each class, all others as they are.
#pragma once
#include <cstdint>
#include <vector>

namespace tanager {

struct WeighedRows {
    std::int64_t n_rows;
    int k;
    const double *joint;  // (rows, classes): log P(y, x), with the present weights of the classes
    std::vector<int> labels;
    const double *weights;        // of the rows
    std::vector<int> preference;  // classes, the one that wins a tie first
    double tie;                   // logs that are closer to the best are as good as it
};

// What to add to the logs of class c, for every class, and how much the rows weigh that are answered wrongly then.
void best_class_steps(const WeighedRows &rows, double *step, double *errors);

}  // namespace tanager
