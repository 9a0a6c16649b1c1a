// Every information that was ever asked of a sample, so that thresholds, folds and learners share it.
#pragma once
#include <array>
#include <atomic>
#include <bit>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "layers.hpp"
#include "sample_measures.hpp"

namespace tanager {

// Counts of two variables and of conditions of their test, which are given up one by one.
class ConditionTable {
  public:
    // Whether there are few cells for the rows that there are, and no row lacks a condition: it would count again once
    // that is given up.
    static bool fits(const Sample &sample, std::size_t x, std::size_t z, const Variables &given);
    void read(const Sample &sample, std::size_t x, std::size_t z, const Variables &given);
    std::size_t n_given() const { return given_.size(); }
    // Gives up those of the conditions that are not among these.
    void narrow(const Variables &given);
    Information information(bool with_pearson) const;
    Information without(std::size_t variable, bool with_pearson);

  private:
    std::size_t add_up(
        std::size_t at);  // over the condition at this place, into fewer_; returns how many cells are left

    std::size_t n_x_ = 0, n_z_ = 0;
    Variables given_;
    std::vector<std::size_t> n_values_;  // of what is given
    std::vector<double> cells_, fewer_;  // [given, x, z]
};

// A search for a set that separates two variables, among ever fewer of those given. Its layers, or a table where that
// is small, are read when a test has to be counted, and serve all further tests of the search.
class SearchedLayers {
  public:
    void begin(std::size_t x, std::size_t z, const Variables &given);
    // The search goes on among these, which are fewer.
    void narrow(const Variables &given) { given_ = given; }
    // The information of x and z given what the search is at, or all but one of these; nothing where the sample itself
    // is better asked.
    std::optional<Information> information(const Sample &sample, RecentPartitions &recent, const Variables &given,
                                           bool with_pearson);
    // The same without Pearson's X^2 for all but one of what the search is at. Nothing where the sample is better
    // asked; the information itself is left open where it is more than `most`.
    std::optional<std::optional<Information>> without(const Sample &sample, RecentPartitions &recent,
                                                      std::size_t variable, double most);

  private:
    template <class Count>
    std::optional<Information> information_from(Layers<Count> &layers, const Sample &sample, RecentPartitions &recent,
                                                const Variables &given, bool with_pearson);
    bool table_ready(const Sample &sample);
    template <class Count>
    bool ready(Layers<Count> &layers, const Sample &sample, RecentPartitions &recent, bool with_pearson);

    std::size_t x_ = 0, z_ = 0;
    Variables given_;
    bool started_ = false, read_ = false;  // whether a test of this search was counted; whether there are layers
    bool tabled_ = false;                  // whether there is a table in place of layers
    ConditionTable table_;
    Layers<std::uint32_t> whole_;  // for rows without weights
    Layers<double> weighted_;
};

// Values by a few variables. A search puts in thousands and takes none out.
template <class Value>
class FewVariablesMap {
  public:
    using Key = std::array<std::uint16_t, 16>;

    // The value, until the next one is put in; nullptr where there is none.
    const Value *find(const Key &key) const {
        const std::uint64_t hash = hash_of(key);
        for (std::size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
            const std::uint64_t slot = slots_[at];
            if (slot == 0) return nullptr;
            if (slot >> 32 != hash >> 32) continue;
            const Entry &own = entry((slot & 0xFFFFFFFFu) - 1);
            if (own.key == key) return &own.value;
        }
    }
    void put(const Key &key, const Value &value) {
        if (const Value *known = find(key)) {
            const_cast<Value &>(*known) = value;
            return;
        }
        if (size_ % kTogether == 0) entries_.push_back(std::make_unique_for_overwrite<Entry[]>(kTogether));
        entry(size_) = {key, value};
        ++size_;
        if (2 * size_ > slots_.size()) grow();
        else place(size_);
    }

  private:
    struct Entry {
        Key key;
        Value value;
    };

    Entry &entry(std::size_t at) { return entries_[at / kTogether][at % kTogether]; }
    const Entry &entry(std::size_t at) const { return entries_[at / kTogether][at % kTogether]; }

    static std::uint64_t hash_of(const Key &key) {
        const auto words = std::bit_cast<std::array<std::uint64_t, 4>>(key);
        std::uint64_t mixed = 0;
        for (const std::uint64_t word : words) mixed = (mixed ^ word) * 0x9E3779B97F4A7C15u, mixed ^= mixed >> 29;
        return mixed;
    }
    // The entry of this number, from 1.
    void place(std::size_t number) {
        const std::uint64_t hash = hash_of(entry(number - 1).key);
        std::size_t at = hash & (slots_.size() - 1);
        while (slots_[at] != 0) at = (at + 1) & (slots_.size() - 1);
        slots_[at] = (hash >> 32 << 32) | number;
    }
    void grow() {
        slots_.assign(4 * slots_.size(), 0);
        for (std::size_t number = 1; number <= size_; ++number) place(number);
    }

    static constexpr std::size_t kTogether = 1024;  // entries lie in blocks, which need not move when there are more

    std::vector<std::unique_ptr<Entry[]>> entries_;
    std::size_t size_ = 0;
    std::vector<std::uint64_t> slots_ = std::vector<std::uint64_t>(1024, 0);  // half of the hash, and a number; or 0
};

// One of several conditions that was given up, and the information that is left.
struct LeftOut {
    std::int32_t which = -1;  // its place; none was given up where it is negative
    Information information{};
};

// May be asked by several threads.
class RememberedInformation {
  public:
    explicit RememberedInformation(const Sample &sample) : sample_(sample), recent_(sample) {}

    // Of variables that are there, each once. Pearson's X^2 may be NaN where it is not asked for.
    Information ask(std::size_t x, std::size_t z, const Variables &given, bool with_pearson = true,
                    SearchedLayers *searched = nullptr);

    // Counts what is not known yet of a variable with each of some others, or of every two of these variables:
    // together, that takes a tenth of the time of asking for each. Nothing is asked for.
    void learn_with(std::size_t x, const Variables &others, Variables given, bool with_pearson);
    void learn_pairs(Variables variables, const Variables &given, bool with_pearson);

    // Which of what is given, after the first `n_kept`, leaves the least information of x and z where it is given up;
    // the first of equals, and none if each would leave more than `now`, the information given all of them. The search
    // is at these. The answer has no Pearson's X^2.
    LeftOut least_without(std::size_t x, std::size_t z, const Variables &given, std::size_t n_kept, double now,
                          SearchedLayers &searched);

    std::atomic<std::int64_t> n_asked = 0, n_counted = 0;

  private:
    // x and z, the smaller first, then what is given, in order; and how many they are.
    using FewVariables = FewVariablesMap<Information>::Key;
    struct HashMany {
        std::size_t operator()(const Variables &key) const;
    };

    bool are_few(const Variables &given) const;
    // The conditions in ascending order, or as they come.
    static FewVariables key_of(std::size_t x, std::size_t z, const Variables &given, bool in_order);
    LeftOut find_least_without(std::size_t x, std::size_t z, const Variables &given, std::size_t n_kept, double now,
                               SearchedLayers &searched);
    std::optional<Information> ask_up_to(double most, std::size_t x, std::size_t z, const Variables &fewer,
                                         std::size_t left_out, SearchedLayers &searched);

    Information count(std::size_t x, std::size_t z, Variables given, bool with_pearson, SearchedLayers *searched);

    const Sample &sample_;
    RecentPartitions recent_;
    std::mutex looking_;
    FewVariablesMap<Information> few_;
    std::unordered_map<Variables, Information, HashMany> many_;
    FewVariablesMap<LeftOut> left_out_;  // by conditions in the order in which they were tried
};

}  // namespace tanager
