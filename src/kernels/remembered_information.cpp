#include "remembered_information.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "interrupt.hpp"

namespace tanager {

namespace {

constexpr double kTableCells = 4096;  // the most of a table that conditions are given up in

}  // namespace

bool ConditionTable::fits(const Sample &sample, std::size_t x, std::size_t z, const Variables &given) {
    const double n = sample.n_cells(given) * static_cast<double>(sample.n_values(x) * sample.n_values(z));
    return n >= 1.0 && n <= std::min(kTableCells, static_cast<double>(sample.n_rows())) &&
           std::all_of(given.begin(), given.end(), [&](std::size_t i) { return sample.complete(i); });
}

void ConditionTable::read(const Sample &sample, std::size_t x, std::size_t z, const Variables &given) {
    n_x_ = sample.n_values(x);
    n_z_ = sample.n_values(z);
    given_ = given;
    std::sort(given_.begin(), given_.end());  // sums do not depend on the order in which conditions are named
    n_values_.clear();
    for (const std::size_t i : given_) n_values_.push_back(sample.n_values(i));
    Variables base = given_;
    base.push_back(x);
    cells_.resize(static_cast<std::size_t>(sample.n_cells(base)) * n_z_);
    sample.extend(base, {z}, {cells_.data()}, SampleMethod::automatic);
}

std::size_t ConditionTable::add_up(std::size_t at) {
    std::size_t inner = n_x_ * n_z_;
    for (std::size_t k = at + 1; k < given_.size(); ++k) inner *= n_values_[k];
    const std::size_t n = n_values_[at], outer = n == 0 ? 0 : cells_.size() / (n * inner);
    fewer_.assign(outer * inner, 0.0);
    for (std::size_t o = 0; o < outer; ++o)
        for (std::size_t v = 0; v < n; ++v)
            for (std::size_t k = 0; k < inner; ++k) fewer_[o * inner + k] += cells_[(o * n + v) * inner + k];
    return outer * inner;
}

void ConditionTable::narrow(const Variables &given) {
    for (std::size_t at = given_.size(); at-- > 0;) {
        if (std::find(given.begin(), given.end(), given_[at]) != given.end()) continue;
        add_up(at);
        std::swap(cells_, fewer_);
        given_.erase(given_.begin() + std::ptrdiff_t(at));
        n_values_.erase(n_values_.begin() + std::ptrdiff_t(at));
    }
}

Information ConditionTable::information(bool with_pearson) const {
    return information_in(cells_.data(), cells_.size() / (n_x_ * n_z_), n_x_, n_z_, with_pearson);
}

Information ConditionTable::without(std::size_t variable, bool with_pearson) {
    const auto at = std::size_t(std::find(given_.begin(), given_.end(), variable) - given_.begin());
    const std::size_t n_cells = add_up(at);
    return information_in(fewer_.data(), n_cells / (n_x_ * n_z_), n_x_, n_z_, with_pearson);
}

void SearchedLayers::begin(std::size_t x, std::size_t z, const Variables &given) {
    x_ = x;
    z_ = z;
    given_ = given;
    started_ = read_ = tabled_ = false;
}

std::optional<Information> SearchedLayers::information(const Sample &sample, RecentPartitions &recent,
                                                       const Variables &given, bool with_pearson) {
    if (sample.weighted()) return information_from(weighted_, sample, recent, given, with_pearson);
    return information_from(whole_, sample, recent, given, with_pearson);
}

template <class Count>
std::optional<Information> SearchedLayers::information_from(Layers<Count> &layers, const Sample &sample,
                                                            RecentPartitions &recent, const Variables &given,
                                                            bool with_pearson) {
    if (given.size() > given_.size() || given.size() + 1 < given_.size()) return {};
    const auto left_out = std::find_if(given_.begin(), given_.end(), [&](std::size_t i) {
        return std::find(given.begin(), given.end(), i) == given.end();
    });
    const bool all = given.size() == given_.size();
    if (table_ready(sample)) return all ? table_.information(with_pearson) : table_.without(*left_out, with_pearson);
    if (!ready(layers, sample, recent, with_pearson)) return {};
    return all ? layers.information() : layers.without(*left_out);
}

std::optional<std::optional<Information>> SearchedLayers::without(const Sample &sample, RecentPartitions &recent,
                                                                  std::size_t variable, double most) {
    if (table_ready(sample)) return table_.without(variable, false);
    const auto from = [&](auto &layers) -> std::optional<std::optional<Information>> {
        if (!ready(layers, sample, recent, false)) return {};
        return layers.without(variable, most);
    };
    return sample.weighted() ? from(weighted_) : from(whole_);
}

bool SearchedLayers::table_ready(const Sample &sample) {
    if (!tabled_ && !read_ && ConditionTable::fits(sample, x_, z_, given_)) {
        table_.read(sample, x_, z_, given_);
        tabled_ = true;
    } else if (tabled_ && table_.n_given() > given_.size()) {
        table_.narrow(given_);
    }
    return tabled_;
}

// Many a search ends with its first test, which counting in a table answers sooner.
template <class Count>
bool SearchedLayers::ready(Layers<Count> &layers, const Sample &sample, RecentPartitions &recent, bool with_pearson) {
    if (!read_) {
        Variables base = given_;
        base.push_back(x_);
        const bool first = !started_ && sample.choose(base, {z_}) != SampleMethod::hash;
        started_ = true;
        if (first || !RowPartition::fits(sample, given_)) return false;
        layers.read(sample, x_, z_, *recent.of(given_), with_pearson);
        read_ = true;
    } else if (layers.n_given() > given_.size()) {
        layers.narrow(given_);
    }
    return true;
}

std::size_t RememberedInformation::HashMany::operator()(const Variables &key) const {
    std::size_t mixed = 0;
    for (const std::size_t i : key) mixed = (mixed ^ i) * 0x9E3779B97F4A7C15u + (mixed >> 29);
    return mixed;
}

bool RememberedInformation::are_few(const Variables &given) const {
    return given.size() + 3 <= FewVariables{}.size() && sample_.n_variables() <= 65535;
}

RememberedInformation::FewVariables RememberedInformation::key_of(std::size_t x, std::size_t z, const Variables &given,
                                                                  bool in_order) {
    FewVariables key{};
    key[0] = static_cast<std::uint16_t>(std::min(x, z));
    key[1] = static_cast<std::uint16_t>(std::max(x, z));
    key.back() = static_cast<std::uint16_t>(given.size());
    std::size_t n = 2;
    for (const std::size_t i : given) {  // most come in order
        std::size_t at = n++;
        for (; in_order && at > 2 && key[at - 1] > i; --at) key[at] = key[at - 1];
        key[at] = static_cast<std::uint16_t>(i);
    }
    return key;
}

Information RememberedInformation::ask(std::size_t x, std::size_t z, const Variables &given, bool with_pearson,
                                       SearchedLayers *searched) {
    check_interrupt();
    if (x > z) std::swap(x, z);
    ++n_asked;
    const bool few = are_few(given);
    const FewVariables key = few ? key_of(x, z, given, true) : FewVariables{};
    Variables many;
    if (!few) {
        many = given;
        std::sort(many.begin(), many.end());
        many.insert(many.begin(), {x, z});
    }
    {
        const std::lock_guard<std::mutex> lock(looking_);
        const auto at = few ? many_.end() : many_.find(many);
        const Information *known = few ? few_.find(key) : at == many_.end() ? nullptr : &at->second;
        if (known != nullptr && !(with_pearson && std::isnan(known->pearson))) return *known;
    }
    ++n_counted;
    const Information made = count(x, z, given, with_pearson, searched);
    const std::lock_guard<std::mutex> lock(looking_);
    if (few) few_.put(key, made);
    else many_[many] = made;
    return made;
}

void RememberedInformation::learn_with(std::size_t x, const Variables &others, Variables given, bool with_pearson) {
    if (!are_few(given)) return;
    std::sort(given.begin(), given.end());
    Variables fresh;
    {
        const std::lock_guard<std::mutex> lock(looking_);
        for (const std::size_t z : others) {
            const Information *known = few_.find(key_of(x, z, given, true));
            if (known == nullptr || (with_pearson && std::isnan(known->pearson))) fresh.push_back(z);
        }
    }
    std::vector<Information> found(fresh.size());
    informations(sample_, x, fresh, given, with_pearson, found.data());
    n_counted += static_cast<std::int64_t>(fresh.size());
    const std::lock_guard<std::mutex> lock(looking_);
    for (std::size_t k = 0; k < fresh.size(); ++k) few_.put(key_of(x, fresh[k], given, true), found[k]);
}

void RememberedInformation::learn_pairs(Variables variables, const Variables &given, bool with_pearson) {
    for (; variables.size() > 1;) {
        const std::size_t x = variables.back();
        variables.pop_back();
        learn_with(x, variables, given, with_pearson);
    }
}

LeftOut RememberedInformation::least_without(std::size_t x, std::size_t z, const Variables &given, std::size_t n_kept,
                                             double now, SearchedLayers &searched) {
    if (!are_few(given)) return find_least_without(x, z, given, n_kept, now, searched);
    FewVariables key = key_of(x, z, given, false);
    key.back() = static_cast<std::uint16_t>(given.size() | n_kept << 8);
    {
        const std::lock_guard<std::mutex> lock(looking_);
        if (const LeftOut *found = left_out_.find(key)) {
            n_asked += static_cast<std::int64_t>(given.size() - n_kept);
            return *found;
        }
    }
    const LeftOut found = find_least_without(x, z, given, n_kept, now, searched);
    const std::lock_guard<std::mutex> lock(looking_);
    left_out_.put(key, found);
    return found;
}

LeftOut RememberedInformation::find_least_without(std::size_t x, std::size_t z, const Variables &given,
                                                  std::size_t n_kept, double now, SearchedLayers &searched) {
    LeftOut best;
    best.information.value = now;
    Variables fewer;
    for (std::size_t k = n_kept; k < given.size(); ++k) {
        fewer = given;
        fewer.erase(fewer.begin() + std::ptrdiff_t(k));
        const auto left = ask_up_to(best.information.value, x, z, fewer, given[k], searched);
        if (!left || left->value > best.information.value) continue;
        if (left->value < best.information.value || best.which < 0)
            best = {static_cast<std::int32_t>(k - n_kept), *left};
    }
    return best;
}

// Nothing where the information is more than `most`. What was counted to the end is remembered.
std::optional<Information> RememberedInformation::ask_up_to(double most, std::size_t x, std::size_t z,
                                                            const Variables &fewer, std::size_t left_out,
                                                            SearchedLayers &searched) {
    if (!are_few(fewer)) return ask(x, z, fewer, false, &searched);
    const FewVariables key = key_of(x, z, fewer, true);
    ++n_asked;
    {
        const std::lock_guard<std::mutex> lock(looking_);
        if (const Information *found = few_.find(key)) return *found;
    }
    ++n_counted;
    const auto counted = searched.without(sample_, recent_, left_out, most);
    if (counted && !*counted) return {};
    const Information made = counted ? **counted : count(x, z, fewer, false, nullptr);
    const std::lock_guard<std::mutex> lock(looking_);
    few_.put(key, made);
    return made;
}

Information RememberedInformation::count(std::size_t x, std::size_t z, Variables given, bool with_pearson,
                                         SearchedLayers *searched) {
    if (searched != nullptr)
        if (const auto found = searched->information(sample_, recent_, given, with_pearson)) return *found;
    std::sort(given.begin(), given.end());  // sums do not depend on the order in which conditions are named
    return information(sample_, x, z, given, SampleMethod::automatic, with_pearson);
}

}  // namespace tanager
