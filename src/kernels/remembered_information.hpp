// Every information that was ever asked of a sample, so that thresholds, folds and learners share it.
#pragma once
#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "layers.hpp"
#include "sample_measures.hpp"

namespace tanager {

// A search for a set that separates two variables, among ever fewer of those given. Its layers are read when a test
// has to be counted, and serve all further tests of the search.
class SearchedLayers {
  public:
    void begin(std::size_t x, std::size_t z, Variables given);
    // The search goes on among these, which are fewer.
    void narrow(Variables given) { given_ = std::move(given); }
    // The information of x and z given what the search is at, or all but one of these; nothing where the sample itself
    // is better asked.
    std::optional<Information> information(const Sample &sample, RecentPartitions &recent, const Variables &given,
                                           bool with_pearson);

  private:
    template <class Count>
    std::optional<Information> information_from(Layers<Count> &layers, const Sample &sample, RecentPartitions &recent,
                                                const Variables &given, bool with_pearson);
    template <class Count>
    bool ready(Layers<Count> &layers, const Sample &sample, RecentPartitions &recent, bool with_pearson);

    std::size_t x_ = 0, z_ = 0;
    Variables given_;
    bool started_ = false, read_ = false;  // whether a test of this search was counted; whether there are layers
    Layers<std::uint32_t> whole_;          // for rows without weights
    Layers<double> weighted_;
};

// May be asked by several threads.
class RememberedInformation {
  public:
    explicit RememberedInformation(const Sample &sample) : sample_(sample), recent_(sample) { few_.reserve(1 << 12); }

    // Of variables that are there, each once. Pearson's X^2 may be NaN where it is not asked for.
    Information ask(std::size_t x, std::size_t z, const Variables &given, bool with_pearson = true,
                    SearchedLayers *searched = nullptr);

    std::atomic<std::int64_t> n_asked = 0, n_counted = 0;

  private:
    // x and z, the smaller first, then what is given, in order; and how many they are.
    using FewVariables = std::array<std::uint16_t, 16>;
    struct HashFew {
        std::size_t operator()(const FewVariables &key) const;
    };
    struct HashMany {
        std::size_t operator()(const Variables &key) const;
    };

    template <class Key, class Map>
    Information ask_by(const Key &key, Map &known, std::size_t x, std::size_t z, const Variables &given,
                       bool with_pearson, SearchedLayers *searched);
    Information count(std::size_t x, std::size_t z, Variables given, bool with_pearson, SearchedLayers *searched);

    const Sample &sample_;
    RecentPartitions recent_;
    std::mutex looking_;
    std::unordered_map<FewVariables, Information, HashFew> few_;
    std::unordered_map<Variables, Information, HashMany> many_;
};

}  // namespace tanager
