#include "left_out_factors.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace tanager::scoring {

namespace {

constexpr std::size_t kFewPlaces = 1000;  // beside eight for every row: so many are looked up in an array

// Numbers equal places 0, 1, ... by first appearance; returns how many there are.
std::size_t number(std::vector<std::uint64_t> &place, std::size_t size) {
    if (size <= 8 * place.size() + kFewPlaces) {
        std::vector<std::int32_t> known(size, -1);
        std::int32_t next = 0;
        for (std::uint64_t &at : place) {
            if (known[at] < 0) known[at] = next++;
            at = std::uint64_t(known[at]);
        }
        return std::size_t(next);
    }
    std::unordered_map<std::uint64_t, std::uint64_t> known;
    for (std::uint64_t &at : place) at = known.emplace(at, known.size()).first->second;
    return known.size();
}

}  // namespace

LeftOutFactors::LeftOutFactors(const ScoringPlan &like, const Codes &codes, const LeftOut &left_out,
                               const double *log_prior, double least_log)
    : like_(like), codes_(codes), left_out_(left_out), log_prior_(log_prior), least_log_(least_log) {
    for (std::int64_t r = 0; r < codes.n_rows; ++r) labels_.push_back(left_out.class_of(r, like.store.k));
}

const AlikeRows &LeftOutFactors::alike(const SmallProduct &product) {
    std::vector<int> columns = product.child;
    for (const auto &parents : product.parents) columns.insert(columns.end(), parents.begin(), parents.end());
    std::sort(columns.begin(), columns.end());
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    if (left_out_.weights) columns.clear();  // what is left of a cell depends on the weight: all rows differ
    const auto found = known_.find(columns);
    return found != known_.end() ? found->second : known_.emplace(columns, sort_out(columns)).first->second;
}

const std::vector<std::uint32_t> &LeftOutFactors::cells(int column) {
    auto [found, is_new] = cells_.try_emplace(column);
    if (is_new) {
        const int limit = like_.slots.limit[std::size_t(column)];
        found->second.resize(labels_.size());
        if (!codes_.wide && codes_.row_step == 1) {  // as a search hands them over: a step that the compiler knows
            const std::byte *code = codes_.cell(0, column);
            for (std::size_t r = 0; r < labels_.size(); ++r)
                found->second[r] = std::min(std::uint32_t(code[r]), std::uint32_t(limit));
        } else {
            for (std::int64_t r = 0; r < codes_.n_rows; ++r)
                found->second[std::size_t(r)] = std::uint32_t(std::min(codes_.at(r, column), limit));
        }
    }
    return found->second;
}

AlikeRows LeftOutFactors::sort_out(const std::vector<int> &columns) {
    const std::size_t m = labels_.size();
    std::vector<std::int32_t> lines(m);
    AlikeRows alike;
    if (left_out_.weights) {
        std::iota(lines.begin(), lines.end(), 0);
        alike.first.assign(lines.begin(), lines.end());
        alike.labels = labels_;
    } else {
        std::vector<std::uint64_t> place(labels_.begin(), labels_.end());
        std::size_t size = std::size_t(like_.store.k);
        for (const int i : columns) {
            const auto n_cells = std::uint64_t(like_.slots.limit[std::size_t(i)]) + 1;
            if (size > 8 * m + kFewPlaces) size = number(place, size);
            const std::uint32_t *cell = cells(i).data();
            for (std::size_t r = 0; r < m; ++r) place[r] = place[r] * n_cells + cell[r];
            size *= n_cells;
        }
        alike.first.reserve(number(place, size));
        for (std::size_t r = 0; r < m; ++r) {
            lines[r] = std::int32_t(place[r]);
            if (place[r] == alike.first.size()) {
                alike.first.push_back(std::int64_t(r));
                alike.labels.push_back(labels_[r]);
            }
        }
    }
    alike.lines = std::make_shared<const std::vector<std::int32_t>>(std::move(lines));
    return alike;
}

std::shared_ptr<Factor> LeftOutFactors::make(const SmallProduct &product, const std::vector<const Factor *> &over) {
    const AlikeRows &rows = alike(product);
    const int k = like_.store.k;
    ScoringPlan plan(like_.store, like_.estimate, false);
    plan.slots = like_.slots;
    plan.priors = like_.priors;
    plan.joined = product.joined;
    plan.set_product(product.child, product.parents, product.weight, product.only);
    std::vector<double> table(rows.first.size() * std::size_t(k));
    Scratch work(plan);
    double *line = table.data();
    for (const std::int64_t r : rows.first) {
        plan.slots.read(codes_, r, work.slot.data());
        plan.score(work.slot.data(), labels_[std::size_t(r)], left_out_.weight(r), true, line, work);
        for (int c = 0; c < k; ++c) line[c] = std::max(line[c], least_log_) - log_prior_[r * k + c];
        for (const Factor *factor : over) {
            const double *less = factor->line_of(r);
            for (int c = 0; c < k; ++c) line[c] -= less[c];
        }
        line += k;
    }
    return std::make_shared<Factor>(rows.lines, std::move(table), k, rows.labels);
}

// --- blocks ---------------------------------------------------------------------------------------------------------

bool LeftOutFactors::has_values(int column) {
    const auto [found, is_new] = has_values_.try_emplace(column, true);
    if (is_new) {
        const std::vector<std::uint32_t> &own = cells(column);
        const std::uint32_t most = own.empty() ? 0 : *std::max_element(own.begin(), own.end());
        found->second = own.empty() || most < std::uint32_t(like_.store.n_values[std::size_t(column)]);
    }
    return found->second;
}

void LeftOutFactors::fold_in(int column, Numbered &values) {
    const std::size_t m = labels_.size();
    const auto n_cells = std::uint64_t(like_.store.n_values[std::size_t(column)]);
    if (values.size * n_cells * std::uint64_t(like_.store.k) > 8 * m + kFewPlaces)
        values.size = number(values.value, values.size);
    const std::uint32_t *cell = cells(column).data();
    for (std::size_t r = 0; r < m; ++r) values.value[r] = values.value[r] * n_cells + cell[r];
    values.size *= n_cells;
}

// By the columns that a block shares with the one before it.
const LeftOutFactors::Numbered &LeftOutFactors::shared_values(const std::vector<int> &block) {
    std::vector<int> columns;
    std::set_intersection(block.begin(), block.end(), last_block_.begin(), last_block_.end(),
                          std::back_inserter(columns));
    if (columns != shared_columns_ || shared_.value.empty()) {
        shared_ = {std::vector<std::uint64_t>(labels_.size(), 0), 1};
        for (const int i : columns) fold_in(i, shared_);
        shared_columns_ = columns;
    }
    last_block_ = block;
    return shared_;
}

// Lines by values and class: their rows, how many these are, and where those with the same values are.
struct LeftOutFactors::BlockLines {
    std::vector<std::int32_t> line;     // of every row
    std::vector<std::int32_t> line_at;  // of (values, class), -1 where there is none
    std::vector<std::uint64_t> values;  // of every line
    std::vector<std::int64_t> first;
    std::vector<int> labels;
    std::vector<double> count;
};

LeftOutFactors::BlockLines LeftOutFactors::block_lines(const Numbered &values) const {
    const std::size_t m = labels_.size();
    const auto k = std::uint64_t(like_.store.k);
    BlockLines out;
    out.line.resize(m);
    out.line_at.assign(values.size * k, -1);
    const auto place = [&](std::size_t r) { return values.value[r] * k + std::uint64_t(labels_[r]); };
    // Counted in four places in turn: rows with the same cell do not wait for each other's store.
    std::vector<std::uint32_t> count(4 * out.line_at.size());
    for (std::size_t r = 0; r < m; ++r) ++count[r % 4 * out.line_at.size() + place(r)];
    for (std::size_t at = 0; at < out.line_at.size(); ++at) {
        std::uint32_t sum = 0;
        for (std::size_t u = 0; u < 4; ++u) sum += count[u * out.line_at.size() + at];
        if (sum == 0) continue;
        out.line_at[at] = std::int32_t(out.count.size());
        out.values.push_back(at / k);
        out.labels.push_back(int(at % k));
        out.count.push_back(sum);
    }
    out.first.resize(out.count.size());
    for (std::size_t r = m; r-- > 0;) {
        out.line[r] = out.line_at[place(r)];
        out.first[std::size_t(out.line[r])] = std::int64_t(r);
    }
    return out;
}

std::shared_ptr<Factor> LeftOutFactors::make_block(const std::vector<int> &block,
                                                   const std::vector<const Factor *> &over) {
    const int k = like_.store.k;
    Numbered values = shared_values(block);
    double combinations = 1;
    for (const int i : block) {
        combinations *= like_.store.n_values[std::size_t(i)];
        if (!std::binary_search(shared_columns_.begin(), shared_columns_.end(), i)) fold_in(i, values);
    }
    if (values.size * std::uint64_t(k) > 8 * labels_.size() + kFewPlaces)
        values.size = number(values.value, values.size);
    BlockLines lines = block_lines(values);
    if (class_counts_.empty()) {
        class_counts_.resize(std::size_t(k));
        for (const int y : labels_) ++class_counts_[std::size_t(y)];
    }
    const double cell = like_.estimate.cell(combinations, k), total = cell * combinations;
    std::vector<double> table(lines.first.size() * std::size_t(k));
    double *out = table.data();
    for (std::size_t q = 0; q < lines.first.size(); ++q, out += k) {
        const std::int32_t *alike = &lines.line_at[lines.values[q] * std::uint64_t(k)];
        const double *log_prior = log_prior_ + lines.first[q] * k;
        for (int c = 0; c < k; ++c) {
            const double less = c == lines.labels[q] ? 1 : 0;
            const double count = alike[c] < 0 ? 0 : lines.count[std::size_t(alike[c])] - less;
            const double log = std::log((count + cell) / (class_counts_[std::size_t(c)] - less + total));
            out[c] = std::max(log + log_prior[c], least_log_) - log_prior[c];
        }
        for (const Factor *factor : over) {
            const double *minus = factor->line_of(lines.first[q]);
            for (int c = 0; c < k; ++c) out[c] -= minus[c];
        }
    }
    return std::make_shared<Factor>(std::make_shared<const std::vector<std::int32_t>>(std::move(lines.line)),
                                    std::move(table), k, lines.labels);
}

}  // namespace tanager::scoring
