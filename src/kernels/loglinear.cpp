#include "loglinear.hpp"

#include <cmath>
#include <numeric>

#include "threads.hpp"

namespace tanager::scoring {

namespace {

// Sums of the cells a row reads, one per class. K is the number of classes where it is small, else 0.
template <int K>
inline void add_up(const double *prior, const double *cells, const std::uint32_t *first, std::int64_t n, int k,
                   double *sum) {
    const int classes = K ? K : k;
    for (int c = 0; c < classes; ++c) sum[c] = prior[c];
    for (std::int64_t t = 0; t < n; ++t)
        for (int c = 0; c < classes; ++c) sum[c] += cells[first[t] + std::uint32_t(c)];
}

// Log joints become a posterior; returns the log of their sum.
template <int K>
inline double normalise(double *s, int k) {
    const int classes = K ? K : k;
    double top = s[0], total = 0;
    for (int c = 1; c < classes; ++c) top = std::max(top, s[c]);
    if (std::isinf(top)) {
        std::fill_n(s, classes, 1.0 / classes);
        return top;
    }
    for (int c = 0; c < classes; ++c) total += s[c] = std::exp(s[c] - top);
    for (int c = 0; c < classes; ++c) s[c] /= total;
    return top + std::log(total);
}

// Adds the derivatives of rows begin..end to the tables, and returns their log-likelihood.
template <int K>
double add_rows(const LabelledRows &rows, std::int64_t begin, std::int64_t end, const double *prior,
                const double *cells, double *d_prior, double *d_cells) {
    const int k = K ? K : rows.k;
    std::vector<double> room(K ? 0 : std::size_t(k));
    double few[K ? K : 1], *s = K ? few : room.data();
    double value = 0;
    for (std::int64_t r = begin; r < end; ++r) {
        check_interrupt(r);
        const std::uint32_t *first = rows.first.data() + rows.begins[std::size_t(r)];
        const std::int64_t n = rows.begins[std::size_t(r) + 1] - rows.begins[std::size_t(r)];
        const int y = rows.labels[std::size_t(r)];
        const double w = rows.weights[std::size_t(r)];
        add_up<K>(prior, cells, first, n, k, s);
        const double own = s[y];
        value += w * (own - normalise<K>(s, k));
        for (int c = 0; c < k; ++c) s[c] *= -w;
        s[y] += w;
        for (int c = 0; c < k; ++c) d_prior[c] += s[c];
        for (std::int64_t t = 0; t < n; ++t)
            for (int c = 0; c < k; ++c) d_cells[first[t] + std::uint32_t(c)] += s[c];
    }
    return value;
}

}  // namespace

LogLinear::LogLinear(const std::vector<int> &limits, const std::vector<int> &child,
                     const std::vector<std::vector<int>> &parents, int n_classes)
    : k(n_classes) {
    slots.limit = slots.missing = limits;
    for (std::size_t t = 0; t < child.size(); ++t) {
        Term term{child[t], n_places, parents[t], std::vector<std::int64_t>(parents[t].size())};
        std::int64_t size = limits[std::size_t(child[t])];
        for (std::size_t q = parents[t].size(); q-- > 0;) {
            term.strides[q] = size;
            size *= limits[std::size_t(parents[t][q])] + 1;
        }
        n_places += size;
        terms.push_back(std::move(term));
    }
}

int LogLinear::find(const int *slot, std::uint32_t *first) const {
    int n = 0;
    for (const Term &t : terms) {
        if (slot[t.child] == slots.missing[std::size_t(t.child)]) continue;
        std::int64_t place = t.base + slot[t.child];
        for (std::size_t q = 0; q < t.parents.size(); ++q) place += slot[t.parents[q]] * t.strides[q];
        first[n++] = std::uint32_t(place * k);
    }
    return n;
}

void LogLinear::score(const Codes &codes, std::int64_t begin, std::int64_t end, const double *prior,
                      const double *cells, bool log_joint, double *out) const {
    std::vector<int> slot(slots.limit.size());
    std::vector<std::uint32_t> first(terms.size());
    for (std::int64_t r = begin; r < end; ++r) {
        check_interrupt(r);
        slots.read(codes, r, slot.data());
        const int n = find(slot.data(), first.data());
        double *answer = out + r * k;
        if (k == 2) add_up<2>(prior, cells, first.data(), n, k, answer);
        else add_up<0>(prior, cells, first.data(), n, k, answer);
        if (!log_joint) normalise<0>(answer, k);
    }
}

LabelledRows::LabelledRows(const LogLinear &model, const Batch &rows)
    : k(model.k), n_cells(model.n_places * model.k), begins{0} {
    const std::size_t n_terms = model.terms.size();
    std::vector<int> slot(model.slots.limit.size());
    std::vector<std::uint32_t> found(n_terms);
    std::size_t n_homes = 16;
    while (n_homes < 2 * std::size_t(rows.n_rows())) n_homes *= 2;
    std::vector<std::int64_t> homes(n_homes, -1);  // a row lives at its hash, or at the next home that is free
    first.reserve(std::size_t(rows.n_rows()) * n_terms);
    const auto alike = [&](std::int64_t r, std::uint16_t y, std::size_t n) {
        const std::int64_t begin = begins[std::size_t(r)];
        return labels[std::size_t(r)] == y && std::size_t(begins[std::size_t(r) + 1] - begin) == n &&
               std::equal(found.begin(), found.begin() + std::ptrdiff_t(n), first.begin() + begin);
    };
    for (std::int64_t r = 0; r < rows.n_rows(); ++r) {
        model.slots.read(rows.codes, r, slot.data());
        const auto n = std::size_t(model.find(slot.data(), found.data()));
        const auto y = std::uint16_t(rows.labels.at(r));
        std::uint64_t hash = y;
        for (std::size_t t = 0; t < n; ++t) {
            hash = (hash ^ found[t]) * 0xff51afd7ed558ccdu;
            hash ^= hash >> 32;
        }
        std::size_t home = hash & (n_homes - 1);
        while (homes[home] >= 0 && !alike(homes[home], y, n)) home = (home + 1) & (n_homes - 1);
        if (homes[home] < 0) {
            homes[home] = n_rows();
            first.insert(first.end(), found.begin(), found.begin() + std::ptrdiff_t(n));
            begins.push_back(std::int64_t(first.size()));
            labels.push_back(y);
            weights.push_back(0);
        }
        weights[std::size_t(homes[home])] += rows.weights[r];
    }
}

double LabelledRows::gradient(const double *prior, const double *cells, double *d_prior, double *d_cells,
                              int n_jobs) const {
    const std::int64_t n = n_rows();
    const auto parts = std::max<std::int64_t>(1, std::min<std::int64_t>(n_jobs, n / 4096));
    std::fill_n(d_prior, k, 0.0);
    std::fill_n(d_cells, n_cells, 0.0);
    // Further threads have tables of their own, added in order: the sums depend on their number, not on chance.
    std::vector<std::vector<double>> own(std::size_t(parts - 1), std::vector<double>(std::size_t(k + n_cells)));
    std::vector<double> values(std::size_t(parts), 0.0);
    using Add = decltype(&add_rows<0>);
    const Add few[] = {add_rows<1>, add_rows<2>, add_rows<3>, add_rows<4>,
                       add_rows<5>, add_rows<6>, add_rows<7>, add_rows<8>};
    const Add add = k <= 8 ? few[k - 1] : add_rows<0>;
    run_threads(std::size_t(parts), [&](std::size_t t) {
        double *mine = t ? own[t - 1].data() : d_prior, *my_cells = t ? mine + k : d_cells;
        const auto at = std::int64_t(t);
        values[t] = add(*this, n * at / parts, n * (at + 1) / parts, prior, cells, mine, my_cells);
    });
    for (const auto &part : own) {
        for (int c = 0; c < k; ++c) d_prior[c] += part[std::size_t(c)];
        for (std::int64_t g = 0; g < n_cells; ++g) d_cells[g] += part[std::size_t(k + g)];
    }
    return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace tanager::scoring
