// Tables of rows for an evolving model: learned, or answered, one after the other.
#pragma once
#include <optional>

#include "batch.hpp"
#include "evolving.hpp"

namespace tanager {

// Codes and numbers of the same rows, of any layout. Each row is copied into one buffer, as the model reads it.
class EvolvingRows {
  public:
    EvolvingRows(const Codes &codes, const std::byte *numbers, std::ptrdiff_t row_step, std::ptrdiff_t column_step,
                 const Evolving &model)
        : codes_(codes), numbers_(numbers), row_step_(row_step), column_step_(column_step),
          x_(std::size_t(model.n_numbers())), v_(std::size_t(model.n_columns())) {}

    std::int64_t n_rows() const { return codes_.n_rows; }
    // Valid until the next call.
    Evolving::Row at(std::int64_t r);
    // How many values each column needs.
    std::vector<int> n_values();

  private:
    Codes codes_;
    const std::byte *numbers_;
    std::ptrdiff_t row_step_, column_step_;  // of the numbers, in bytes
    std::vector<double> x_;
    std::vector<int> v_;
};

// Learns rows in turn. Before each, its posterior, or that of the row in `answered`, goes to `out` if there is one.
// Labels are classes or missing.
void learn_rows(Evolving &model, EvolvingRows &rows, const Codes &labels, const Weights &weights,
                std::optional<EvolvingRows> &answered, double *out);
// Learns rows of given pseudo-classes: pseudo[r] is a place among the n_pseudo[c] of its class. Rows without a class or
// weight teach nothing; of a window the last ones are learned.
void learn_given_rows(Evolving &model, EvolvingRows &rows, const Codes &labels, const std::int64_t *pseudo,
                      const std::vector<int> &n_pseudo, const Weights &weights);
void score_rows(const Evolving &model, const EvolvingRows &rows, bool log_joint, int n_jobs, double *out);

}  // namespace tanager
