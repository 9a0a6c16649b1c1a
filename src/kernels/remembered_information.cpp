#include "remembered_information.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tanager {

void SearchedLayers::begin(std::size_t x, std::size_t z, Variables given) {
    x_ = x;
    z_ = z;
    given_ = std::move(given);
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

std::size_t RememberedInformation::HashFew::operator()(const FewVariables &key) const {
    const auto words = std::bit_cast<std::array<std::uint64_t, 4>>(key);
    std::uint64_t mixed = 0;
    for (const std::uint64_t word : words) mixed = (mixed ^ word) * 0x9E3779B97F4A7C15u, mixed ^= mixed >> 29;
    return mixed;
}

std::size_t RememberedInformation::HashMany::operator()(const Variables &key) const {
    std::size_t mixed = 0;
    for (const std::size_t i : key) mixed = (mixed ^ i) * 0x9E3779B97F4A7C15u + (mixed >> 29);
    return mixed;
}

Information RememberedInformation::ask(std::size_t x, std::size_t z, const Variables &given, bool with_pearson,
                                       SearchedLayers *searched) {
    if (x > z) std::swap(x, z);
    FewVariables few{};
    if (given.size() + 3 > few.size() || sample_.n_variables() > 65535) {
        Variables many = given;
        std::sort(many.begin(), many.end());
        many.insert(many.begin(), {x, z});
        return ask_by(many, many_, x, z, given, with_pearson, searched);
    }
    few[0] = static_cast<std::uint16_t>(x);
    few[1] = static_cast<std::uint16_t>(z);
    few.back() = static_cast<std::uint16_t>(given.size());
    std::size_t n = 2;
    for (const std::size_t i : given) {  // most come in order
        std::size_t at = n++;
        for (; at > 2 && few[at - 1] > i; --at) few[at] = few[at - 1];
        few[at] = static_cast<std::uint16_t>(i);
    }
    return ask_by(few, few_, x, z, given, with_pearson, searched);
}

template <class Key, class Map>
Information RememberedInformation::ask_by(const Key &key, Map &known, std::size_t x, std::size_t z,
                                          const Variables &given, bool with_pearson, SearchedLayers *searched) {
    ++n_asked;
    {
        const std::lock_guard<std::mutex> lock(looking_);
        if (const auto found = known.find(key);
            found != known.end() && !(with_pearson && std::isnan(found->second.pearson)))
            return found->second;
    }
    ++n_counted;
    const Information made = count(x, z, given, with_pearson, searched);
    const std::lock_guard<std::mutex> lock(looking_);
    return known[key] = made;
}

Information RememberedInformation::count(std::size_t x, std::size_t z, Variables given, bool with_pearson,
                                         SearchedLayers *searched) {
    if (searched != nullptr)
        if (const auto found = searched->information(sample_, recent_, given, with_pearson)) return *found;
    std::sort(given.begin(), given.end());  // sums do not depend on the order in which conditions are named
    return information(sample_, x, z, given, SampleMethod::automatic);
}

}  // namespace tanager
