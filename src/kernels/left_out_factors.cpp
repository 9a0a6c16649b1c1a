#include "left_out_factors.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace tanager::scoring {

namespace {

constexpr std::int64_t kNoRow = -1;
constexpr std::size_t kFewPlaces = 1000;  // beside eight for every row: so many are looked up in an array

// Numbers equal places 0, 1, ... by first appearance; returns how many there are.
template <class Number>
std::size_t number(std::vector<Number> &place, std::size_t size) {
    if (size <= 8 * place.size() + kFewPlaces) {
        std::vector<std::int32_t> known(size, -1);
        std::int32_t next = 0;
        for (Number &at : place) {
            if (known[at] < 0) known[at] = next++;
            at = Number(known[at]);
        }
        return std::size_t(next);
    }
    std::unordered_map<Number, Number> known;
    for (Number &at : place) at = known.emplace(at, Number(known.size())).first->second;
    return known.size();
}

}  // namespace

LeftOutFactors::LeftOutFactors(const ScoringPlan &like, const Codes &codes, const LeftOut &left_out,
                               const double *log_prior, double least_log)
    : like_(like), codes_(codes), left_out_(left_out), log_prior_(log_prior), least_log_(least_log) {
    labels_.reserve(std::size_t(codes.n_rows));
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

// The codes of a column where they lie side by side, as a search hands them over; else null.
const std::byte *LeftOutFactors::column_of_bytes(int column) const {
    return !codes_.wide && codes_.row_step == 1 ? codes_.cell(0, column) : nullptr;
}

const std::vector<std::uint32_t> &LeftOutFactors::cells(int column) {
    auto [found, is_new] = cells_.try_emplace(column);
    if (is_new) {
        const int limit = like_.slots.limit[std::size_t(column)];
        found->second.resize(labels_.size());
        if (const std::byte *code = column_of_bytes(column)) {
            for (std::size_t r = 0; r < labels_.size(); ++r)
                found->second[r] = std::min(std::uint32_t(code[r]), std::uint32_t(limit));
        } else {
            for (std::int64_t r = 0; r < codes_.n_rows; ++r)
                found->second[std::size_t(r)] = std::uint32_t(std::min(codes_.at(r, column), limit));
        }
    }
    return found->second;
}

// Rows by their class and their values in no more than two columns, where these fit into a byte: searches try every
// pair of columns. Some lines may have no rows.
std::optional<AlikeRows> LeftOutFactors::in_bytes(const std::vector<int> &columns) const {
    const auto n_cells = [&](int i) { return std::size_t(like_.slots.limit[std::size_t(i)]) + 1; };
    std::size_t size = std::size_t(like_.store.k);
    for (const int i : columns) size *= std::min(n_cells(i), std::size_t{0x101});
    if (left_out_.weights || columns.empty() || columns.size() > 2 || size > 0x100 || !column_of_bytes(columns[0]))
        return std::nullopt;
    const std::size_t m = labels_.size();
    std::vector<std::uint8_t> line(labels_.begin(), labels_.end());
    for (const int i : columns) {
        const auto *code = reinterpret_cast<const std::uint8_t *>(column_of_bytes(i));
        const auto times = std::uint8_t(n_cells(i)), last = std::uint8_t(n_cells(i) - 1);
        for (std::size_t r = 0; r < m; ++r) line[r] = std::uint8_t(line[r] * times + std::min(code[r], last));
    }
    AlikeRows alike;
    alike.first.assign(size, kNoRow);
    for (std::size_t r = 0; r < m; ++r) alike.first[line[r]] = std::int64_t(r);
    alike.labels.reserve(size);
    for (const std::int64_t r : alike.first) alike.labels.push_back(r == kNoRow ? -1 : labels_[std::size_t(r)]);
    alike.lines = std::make_shared<const LineNumbers>(std::move(line));
    return alike;
}

AlikeRows LeftOutFactors::sort_out(const std::vector<int> &columns) {
    if (std::optional<AlikeRows> found = in_bytes(columns)) return std::move(*found);
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
    alike.lines = std::make_shared<const LineNumbers>(m, alike.first.size(), [&](std::size_t r) { return lines[r]; });
    return alike;
}

// A single family needs no plan for all columns, which would take longer than the rows.
bool LeftOutFactors::is_family(const SmallProduct &product) const {
    const auto applies_to_all = [](const std::vector<int> &classes) { return classes.empty(); };
    return !like_.estimate.learned && product.child.size() == 1 && product.parents[0].size() <= 1 &&
           product.weight[0] == 1 && product.joined.empty() &&
           std::all_of(product.only.begin(), product.only.end(), applies_to_all);
}

// P(x_child | y, parent) in each line; P(x_child | y) where the parent is missing, 1 where the child is.
std::vector<double> LeftOutFactors::family_table(const SmallProduct &product, const AlikeRows &rows) {
    const std::size_t k = std::size_t(like_.store.k);
    if (!families_) {
        families_ = std::make_unique<ScoringPlan>(like_.store, like_.estimate, false);
        slot_.resize(std::size_t(like_.store.n));
    }
    const int child = product.child[0], shorter = families_->add_term(child, {});
    const int longer = product.parents[0].empty() ? shorter : families_->add_term(child, product.parents[0]);
    std::vector<int> columns = product.parents[0];
    columns.push_back(child);
    std::vector<double> table(rows.first.size() * k), sub(k);
    double *line = table.data();
    for (const std::int64_t r : rows.first) {
        if (r == kNoRow) {
            line += k;
            continue;
        }
        for (const int i : columns) {
            const int code = codes_.at(r, i);
            slot_[std::size_t(i)] =
                code < like_.slots.limit[std::size_t(i)] ? code : like_.slots.missing[std::size_t(i)];
        }
        const double weight = left_out_.weight(r);
        sub[std::size_t(labels_[std::size_t(r)])] = weight;
        const auto read = [&](int t) {
            const auto &terms = families_->terms;
            return term_value(like_.store, like_.estimate, terms, terms[std::size_t(t)], slot_.data(), sub.data(),
                              weight, line);
        };
        if (!read(longer) && !read(shorter)) std::fill_n(line, k, 1.0);
        sub[std::size_t(labels_[std::size_t(r)])] = 0;
        for (std::size_t c = 0; c < k; ++c) {
            const double prior = log_prior_[std::size_t(r) * k + c];
            line[c] = std::max(std::log(line[c]) + prior, least_log_) - prior;
        }
        line += k;
    }
    return table;
}

void LeftOutFactors::divide(std::vector<double> &table, const AlikeRows &rows,
                            const std::vector<const Factor *> &over) const {
    const int k = like_.store.k;
    double *line = table.data();
    for (const std::int64_t r : rows.first) {
        for (std::size_t q = 0; r != kNoRow && q < over.size(); ++q) {
            const double *less = over[q]->line_of(r);
            for (int c = 0; c < k; ++c) line[c] -= less[c];
        }
        line += k;
    }
}

std::shared_ptr<Factor> LeftOutFactors::make(const SmallProduct &product, const std::vector<const Factor *> &over) {
    const AlikeRows &rows = alike(product);
    std::vector<double> table = is_family(product) ? family_table(product, rows) : product_table(product, rows);
    divide(table, rows, over);
    return std::make_shared<Factor>(rows.lines, std::move(table), like_.store.k, rows.labels);
}

std::vector<double> LeftOutFactors::product_table(const SmallProduct &product, const AlikeRows &rows) const {
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
        if (r == kNoRow) {
            line += k;
            continue;
        }
        plan.slots.read(codes_, r, work.slot.data());
        plan.score(work.slot.data(), labels_[std::size_t(r)], left_out_.weight(r), true, line, work);
        for (int c = 0; c < k; ++c) line[c] = std::max(line[c], least_log_) - log_prior_[r * k + c];
        line += k;
    }
    return table;
}

// --- blocks ---------------------------------------------------------------------------------------------------------

bool LeftOutFactors::has_values(int column) {
    const auto [found, is_new] = has_values_.try_emplace(column, true);
    if (is_new) {
        const auto n_values = std::uint32_t(like_.store.n_values[std::size_t(column)]);
        const auto largest = [&](const auto *cell) {
            std::uint32_t most = 0;
            for (std::size_t r = 0; r < labels_.size(); ++r) most = std::max(most, std::uint32_t(cell[r]));
            return most;
        };
        const std::byte *codes = column_of_bytes(column);
        found->second = labels_.empty() || (codes ? largest(codes) : largest(cells(column).data())) < n_values;
    }
    return found->second;
}

void LeftOutFactors::fold_in(int column, Numbered &values) {
    const std::size_t m = labels_.size();
    const auto n_cells = std::uint64_t(like_.store.n_values[std::size_t(column)]);
    if (!few(values.size * n_cells)) values.size = number(values.value, values.size);
    const std::uint32_t *cell = cells(column).data();
    for (std::size_t r = 0; r < m; ++r) values.value[r] = values.value[r] * n_cells + cell[r];
    values.size *= n_cells;
}

// Whether so many values can each have a line for every class.
bool LeftOutFactors::few(std::uint64_t n_values) const {
    return n_values * std::uint64_t(like_.store.k) <= 8 * labels_.size() + kFewPlaces;
}

// Finds the columns that a block shares with the one before it, and the values of rows there.
void LeftOutFactors::find_shared(const std::vector<int> &block) {
    std::vector<int> columns;
    std::set_intersection(block.begin(), block.end(), last_block_.begin(), last_block_.end(),
                          std::back_inserter(columns));
    last_block_ = block;
    if (columns == shared_columns_ && !shared_.value.empty()) return;
    shared_ = {std::vector<std::uint64_t>(labels_.size(), 0), 1};
    for (const int i : columns) fold_in(i, shared_);
    shared_.size = number(shared_.value, shared_.size);
    shared_numbers_.assign(shared_.value.begin(), shared_.value.end());
    shared_columns_ = columns;
}

// Rows by their values in a block and by their class: lines, some of which may have no rows.
struct LeftOutFactors::BlockLines {
    std::vector<std::int32_t> line;  // of every row
    std::vector<std::uint32_t> count;
    std::vector<std::int32_t> some;  // a row of each
};

LeftOutFactors::BlockLines LeftOutFactors::block_lines(const std::vector<int> &block) {
    const std::size_t m = labels_.size();
    find_shared(block);
    std::vector<int> rest;
    std::set_difference(block.begin(), block.end(), shared_columns_.begin(), shared_columns_.end(),
                        std::back_inserter(rest));
    BlockLines out;
    out.line.resize(m);
    const auto k = std::uint32_t(like_.store.k);
    if (rest.size() == 1 && few(shared_.size * std::uint64_t(like_.store.n_values[std::size_t(rest[0])]))) {
        // As in a search that tries one column after the other: a single pass, and half as many bytes.
        const std::uint32_t times = k * std::uint32_t(like_.store.n_values[std::size_t(rest[0])]);
        const std::uint32_t *shared = shared_numbers_.data();
        const int *label = labels_.data();
        const auto number_all = [&](const auto *cell) {
            for (std::size_t r = 0; r < m; ++r)
                out.line[r] = std::int32_t(shared[r] * times + std::uint32_t(cell[r]) * k + std::uint32_t(label[r]));
        };
        if (const std::byte *codes = column_of_bytes(rest[0])) number_all(codes);
        else number_all(cells(rest[0]).data());
        count_lines(out.line, shared_.size * times, out);
        return out;
    }
    Numbered values = shared_;
    for (const int i : rest) fold_in(i, values);
    if (!few(values.size)) values.size = number(values.value, values.size);
    for (std::size_t r = 0; r < m; ++r)
        out.line[r] = std::int32_t(std::uint32_t(values.value[r]) * k + std::uint32_t(labels_[r]));
    count_lines(out.line, values.size * k, out);
    return out;
}

template <class Number>
void LeftOutFactors::count_lines(const std::vector<Number> &line, std::size_t n_lines, BlockLines &out) const {
    const std::size_t m = labels_.size();
    // Counted in four places in turn: rows with the same line do not wait for each other's store.
    std::vector<std::uint32_t> count(4 * n_lines);
    out.some.assign(n_lines, -1);
    for (std::size_t r = 0; r < m; ++r) {
        const auto at = std::size_t(line[r]);
        ++count[r % 4 * n_lines + at];
        out.some[at] = std::int32_t(r);
    }
    for (std::size_t at = 0; at < n_lines; ++at)
        for (std::size_t u = 1; u < 4; ++u) count[at] += count[u * n_lines + at];
    count.resize(n_lines);
    out.count = std::move(count);
}

// Where combinations and classes fit into a byte, lines are made many rows at a time, and all of them are kept: few
// have no rows. Most blocks of a search are such.
std::optional<std::vector<std::uint8_t>> LeftOutFactors::block_bytes(const std::vector<int> &block) {
    std::size_t size = std::size_t(like_.store.k);
    for (const int i : block) {
        size *= std::min(std::size_t(like_.store.n_values[std::size_t(i)]), std::size_t{0x101});
        if (size > 0x100 || !column_of_bytes(i)) return std::nullopt;
    }
    if (byte_labels_.empty()) byte_labels_.assign(labels_.begin(), labels_.end());
    const std::size_t m = labels_.size();
    std::vector<std::uint8_t> line(m, 0);
    const auto fold = [&line, m](const std::uint8_t *code, std::uint8_t times) {
        for (std::size_t r = 0; r < m; ++r) line[r] = std::uint8_t(line[r] * times + code[r]);
    };
    for (const int i : block)
        fold(reinterpret_cast<const std::uint8_t *>(column_of_bytes(i)),
             std::uint8_t(like_.store.n_values[std::size_t(i)]));
    fold(byte_labels_.data(), std::uint8_t(like_.store.k));
    return line;
}

std::shared_ptr<Factor> LeftOutFactors::make_block(const std::vector<int> &block,
                                                   const std::vector<const Factor *> &over) {
    const auto k = std::size_t(like_.store.k);
    double combinations = 1;
    for (const int i : block) combinations *= like_.store.n_values[std::size_t(i)];
    BlockLines lines;
    std::optional<std::vector<std::uint8_t>> bytes = block_bytes(block);
    if (bytes) count_lines(*bytes, std::size_t(combinations) * k, lines);
    else lines = block_lines(block);
    if (class_counts_.empty()) {
        class_counts_.resize(k);
        for (const int y : labels_) ++class_counts_[std::size_t(y)];
    }
    const double cell = like_.estimate.cell(combinations, double(k)), total = cell * combinations;
    std::vector<double> table;
    std::vector<std::int32_t> number_of(bytes ? 0 : lines.count.size(), -1);  // without lines that have no rows
    std::vector<int> labels;
    table.reserve(lines.count.size() * k);
    labels.reserve(lines.count.size());
    for (std::size_t q = 0; q < lines.count.size(); ++q) {
        const std::size_t own = q % k, from = table.size();
        if (lines.count[q] == 0) {
            if (bytes) {
                labels.push_back(-1);
                table.resize(from + k);
            }
            continue;
        }
        if (!bytes) number_of[q] = std::int32_t(labels.size());
        labels.push_back(int(own));
        table.resize(from + k);
        double *out = &table[from];
        const double *log_prior = log_prior_ + std::size_t(lines.some[q]) * k;
        for (std::size_t c = 0; c < k; ++c) {
            const double less = c == own ? 1 : 0, count = lines.count[q - own + c] - less;
            const double log = std::log((count + cell) / (class_counts_[c] - less + total));
            out[c] = std::max(log + log_prior[c], least_log_) - log_prior[c];
        }
        for (const Factor *factor : over) {
            const double *minus = factor->line_of(lines.some[q]);
            for (std::size_t c = 0; c < k; ++c) out[c] -= minus[c];
        }
    }
    if (bytes)
        return std::make_shared<Factor>(std::make_shared<const LineNumbers>(std::move(*bytes)), std::move(table),
                                        int(k), labels);
    const auto number = [&](std::size_t r) { return number_of[std::size_t(lines.line[r])]; };
    return std::make_shared<Factor>(std::make_shared<const LineNumbers>(lines.line.size(), labels.size(), number),
                                    std::move(table), int(k), labels);
}

}  // namespace tanager::scoring
