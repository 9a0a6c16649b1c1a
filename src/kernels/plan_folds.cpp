#include "plan_folds.hpp"

#include "score_rows.hpp"
#include "ties.hpp"

namespace tanager::scoring {

namespace {

// Counts that are lent: they are empty in the end, whatever happens.
class LentCounts {
  public:
    LentCounts(Store &store, const std::vector<int> &slots) : store_(store), slots_(slots), cell_(store.n) {}
    LentCounts(const LentCounts &) = delete;
    ~LentCounts() {
        if (!empty_) each_table(store_, [](double *cells, std::int64_t size) { std::fill_n(cells, size, 0.0); });
    }
    void learn(std::size_t r, int y, double weight) {
        empty_ = false;
        learn_row(store_, slot(r), y, weight, cell_.data());
    }
    void forget(std::size_t r, int y, double weight) { forget_row(store_, slot(r), y, weight, cell_.data()); }
    void are_empty() { empty_ = true; }  // all was forgotten, without a rest

  private:
    Store &store_;
    const std::vector<int> &slots_;
    std::vector<std::int64_t> cell_;
    bool empty_ = true;

    const int *slot(std::size_t r) const { return &slots_[r * std::size_t(store_.n)]; }
};

// Copies of some rows, one behind the other.
class SomeRows {
  public:
    explicit SomeRows(const Codes &from, int n) : from_(from), n_(n) {}
    void clear() { codes_.clear(); }
    void add(std::size_t r) {
        for (int i = 0; i < n_; ++i) {
            const int code = from_.at(std::int64_t(r), i);
            codes_.push_back(code == from_.marker() ? 0xFFFF : std::uint16_t(code));
        }
    }
    Codes codes(std::size_t n_rows) const {
        const auto size = std::ptrdiff_t(sizeof(std::uint16_t));
        return {reinterpret_cast<const std::byte *>(codes_.data()), true, std::int64_t(n_rows), n_ * size, size};
    }

  private:
    const Codes &from_;
    const int n_;
    std::vector<std::uint16_t> codes_;
};

int chosen(const double *proba, const Store &s) {
    const double best = *std::max_element(proba, proba + s.k);
    int first = -1;
    for (int c = 0; c < s.k; ++c)
        if (proba[c] >= best - kSameProbability &&
            (first < 0 || first_digits(s.classes[c]) > first_digits(s.classes[first])))
            first = c;
    return first;
}

}  // namespace

double right_in_folds(ScoringPlan &plan, const FoldedRows &rows, int n_jobs) {
    Store &s = plan.store;
    const auto m = std::size_t(rows.codes.n_rows), n = std::size_t(s.n);
    const Slots values(s, false);
    std::vector<int> slots(m * n), labels(m);
    std::vector<double> weight(m);
    bool whole = true;
    for (std::size_t r = 0; r < m; ++r) {
        if (!values.read(rows.codes, std::int64_t(r), &slots[r * n])) return std::numeric_limits<double>::quiet_NaN();
        labels[r] = rows.labels.at(std::int64_t(r));
        for (int b = 0; b < rows.n_folds; ++b) {
            const double own = rows.dealt[std::size_t(b) * m + r];
            weight[r] += own;
            whole = whole && own == std::floor(own);
        }
    }
    LentCounts counts(s, slots);
    for (std::size_t r = 0; r < m; ++r)
        if (weight[r] > 0) counts.learn(r, labels[r], weight[r]);
    SomeRows some(rows.codes, s.n);
    std::vector<std::size_t> asked;
    std::vector<double> proba;
    double right = 0;
    for (int b = 0; b < rows.n_folds; ++b) {
        const double *own = rows.dealt + std::size_t(b) * m;
        asked.clear();
        some.clear();
        for (std::size_t r = 0; r < m; ++r) {
            if (!(own[r] > 0)) continue;
            asked.push_back(r);
            some.add(r);
            counts.forget(r, labels[r], own[r]);
        }
        proba.resize(asked.size() * std::size_t(s.k));
        score_rows(plan, some.codes(asked.size()), {}, false, n_jobs, proba.data());
        double found = 0;
        for (std::size_t at = 0; at < asked.size(); ++at)
            if (chosen(&proba[at * std::size_t(s.k)], s) == labels[asked[at]]) found += own[asked[at]];
        right += found;
        for (const std::size_t r : asked) counts.learn(r, labels[r], own[r]);
    }
    // To forget whole rows leaves nothing behind, and touches fewer cells where they are few.
    const double n_cells = double(s.width) * double(s.width) * s.k;
    if (whole && double(m) * double(n) * double(n) < n_cells) {
        for (std::size_t r = 0; r < m; ++r)
            if (weight[r] > 0) counts.forget(r, labels[r], weight[r]);
        counts.are_empty();
    }
    return right;
}

}  // namespace tanager::scoring
