#include "remembered_information.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tanager {

void SearchedLayers::begin(std::size_t x, std::size_t z, const Variables &given) {
    x_ = x;
    z_ = z;
    given_ = given;
    started_ = read_ = false;
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
    if (given.size() > given_.size() || given.size() + 1 < given_.size() ||
        !ready(layers, sample, recent, with_pearson))
        return {};
    if (given.size() == given_.size()) return layers.information();
    const auto left_out = std::find_if(given_.begin(), given_.end(), [&](std::size_t i) {
        return std::find(given.begin(), given.end(), i) == given.end();
    });
    return layers.without(*left_out);
}

std::optional<std::optional<Information>> SearchedLayers::without(const Sample &sample, RecentPartitions &recent,
                                                                  std::size_t variable, double most) {
    const auto from = [&](auto &layers) -> std::optional<std::optional<Information>> {
        if (!ready(layers, sample, recent, false)) return {};
        return layers.without(variable, most);
    };
    return sample.weighted() ? from(weighted_) : from(whole_);
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

void RememberedInformation::learn_pairs(Variables variables, Variables given, bool with_pearson) {
    if (!are_few(given)) return;
    std::sort(variables.begin(), variables.end());  // sums do not depend on the order in which they are named
    std::sort(given.begin(), given.end());
    std::vector<Information> found;
    for (std::size_t at = 0; at < variables.size(); ++at) {
        const std::size_t x = variables[at];
        Variables others;
        {
            const std::lock_guard<std::mutex> lock(looking_);
            for (std::size_t k = at + 1; k < variables.size(); ++k) {
                const Information *known = few_.find(key_of(x, variables[k], given, true));
                if (known == nullptr || (with_pearson && std::isnan(known->pearson))) others.push_back(variables[k]);
            }
        }
        found.resize(others.size());
        informations(sample_, x, others, given, with_pearson, found.data());
        n_counted += static_cast<std::int64_t>(others.size());
        const std::lock_guard<std::mutex> lock(looking_);
        for (std::size_t k = 0; k < others.size(); ++k) few_.put(key_of(x, others[k], given, true), found[k]);
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
