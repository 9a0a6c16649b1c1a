#include "densities.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "threads.hpp"

namespace tanager {

namespace {

constexpr std::int64_t rows_per_thread = 256;

// Adds exp(term) to a sum that is kept as its largest term and the rest relative to it.
void add_log(double term, double &top, double &rest) {
    if (term > top) {
        rest = rest * std::exp(top - term) + 1;
        top = term;
    } else {
        rest += std::exp(term - top);
    }
}

}  // namespace

void log_density_sums(const Normals &normals, const Contexts &rows, const Terms &terms, double *out, int n_jobs) {
    const int k = normals.k, n = normals.n;
    const std::int64_t cells = std::int64_t(k) * n;
    const auto work = [&](std::int64_t begin, std::int64_t end) {
        std::vector<double> rest(static_cast<std::size_t>(cells));
        for (std::int64_t r = begin; r < end; ++r) {
            check_interrupt(r);
            const double *x = rows.values + r * n;
            const std::int64_t *lines = rows.lines + r * rows.n_sets;
            double *top = out + r * cells;
            std::fill_n(top, cells, -std::numeric_limits<double>::infinity());
            std::fill(rest.begin(), rest.end(), 0.0);
            for (std::int64_t t = 0; t < terms.n_terms; ++t) {
                const int g = int(terms.child[t]);
                const std::int64_t line = lines[terms.set[t]];
                if (line < 0 || std::isnan(x[g])) continue;
                for (int c = 0; c < k; ++c)
                    add_log(normals.log_density(line + c, g, x[g]) + terms.log_weight[t], top[c * n + g],
                            rest[std::size_t(c * n + g)]);
            }
            for (int g = 0; g < n; ++g)
                for (int c = 0; c < k; ++c) {
                    double &sum = top[c * n + g];
                    if (std::isnan(x[g])) sum = 0;
                    else if (rest[std::size_t(c * n + g)] > 0) sum += std::log(rest[std::size_t(c * n + g)]);
                }
        }
    };
    parallel_rows(rows.n_rows, n_jobs, work, rows_per_thread);
}

void add_log_densities(const Normals &normals, const Contexts &rows, int set, int skip, double *out, int n_jobs) {
    const int k = normals.k, n = normals.n;
    const auto work = [&](std::int64_t begin, std::int64_t end) {
        std::vector<int> known;
        known.reserve(std::size_t(n));
        for (std::int64_t r = begin; r < end; ++r) {
            const double *x = rows.values + r * n;
            const std::int64_t line = rows.lines[r * rows.n_sets + set];
            if (line < 0) continue;
            known.clear();
            for (int g = 0; g < n; ++g)
                if (g != skip && !std::isnan(x[g])) known.push_back(g);
            for (int c = 0; c < k; ++c) {
                double sum = 0;
                for (const int g : known) sum += normals.log_density(line + c, g, x[g]);
                out[r * k + c] += sum;
            }
        }
    };
    parallel_rows(rows.n_rows, n_jobs, work, rows_per_thread);
}

}  // namespace tanager
