#include "layers.hpp"

#include <algorithm>
#include <bit>
#include <type_traits>

namespace tanager {

namespace {

constexpr std::uint32_t kNone = ~std::uint32_t{0};
constexpr std::size_t kMostFields = 32;
constexpr std::size_t kMostRecent = 256;
constexpr std::size_t kRecentBytes = std::size_t{1} << 24;

int bits_of(std::size_t n_values) { return std::bit_width(n_values); }  // n_values itself means missing

template <class Code>
void read_keys(const Sample &sample, const std::vector<RowPartition::Field> &fields, std::vector<std::uint64_t> &keys,
               std::vector<std::uint32_t> &missing) {
    for (std::size_t f = 0; f < fields.size(); ++f) {
        const Code *codes = sample.column<Code>(fields[f].variable);
        const auto n = static_cast<Code>(fields[f].n_values);
        const int shift = fields[f].shift;
        std::uint32_t any = 0;
        for (std::size_t r = 0; r < keys.size(); ++r) {
            keys[r] |= static_cast<std::uint64_t>(std::min(codes[r], n)) << shift;
            any |= codes[r] >= n;
        }
        if (any == 0) continue;
        for (std::size_t r = 0; r < keys.size(); ++r) missing[r] |= std::uint32_t{codes[r] >= n} << f;
    }
}

}  // namespace

void KeyNumbers::start(std::size_t n, std::uint64_t most) {
    std::size_t n_slots = 64;
    while (n_slots < 4 * n) n_slots *= 2;  // a miss costs more than the room
    direct_ = most < n_slots;
    shift_ = 64 - std::countr_zero(n_slots);
    slots_.assign(direct_ ? most + 1 : n_slots, none);
    keys_.resize(n);
    size_ = 0;
}

bool RowPartition::fits(const Sample &sample, const Variables &variables) {
    int bits = 0;
    for (const std::size_t i : variables) bits += bits_of(sample.n_values(i));
    return bits < 64 && variables.size() <= kMostFields;
}

RowPartition::RowPartition(const Sample &sample, const Variables &variables) {
    int shift = 0;
    std::uint64_t most = 0;
    for (const std::size_t i : variables) {
        const std::size_t n = sample.n_values(i);
        fields.push_back({i, n, shift, ((std::uint64_t{1} << bits_of(n)) - 1) << shift});
        shift += bits_of(n);
        most |= fields.back().mask;
    }
    const std::size_t n_rows = sample.n_rows();
    std::vector<std::uint64_t> of_row(n_rows, 0);
    std::vector<std::uint32_t> lacking(n_rows, 0), part(n_rows);
    if (sample.code_size() == 1) read_keys<std::uint8_t>(sample, fields, of_row, lacking);
    else read_keys<std::uint16_t>(sample, fields, of_row, lacking);
    KeyNumbers numbers;
    numbers.start(n_rows, most);
    std::vector<std::uint32_t> sizes(n_rows, 0);
    for (std::size_t r = 0; r < n_rows; ++r) {
        const std::uint32_t known = numbers.size(), own = part[r] = numbers.of(of_row[r]);
        if (own == known) {
            keys.push_back(of_row[r]);
            missing.push_back(lacking[r]);
        }
        ++sizes[own];
    }
    ends.resize(keys.size());
    for (std::uint32_t own = 0, begin = 0; own < keys.size(); begin += sizes[own++]) ends[own] = begin;
    rows.resize(n_rows);
    for (std::size_t r = 0; r < n_rows; ++r) rows[ends[part[r]]++] = static_cast<std::uint32_t>(r);
}

RecentPartitions::RecentPartitions(const Sample &sample)
    : sample_(sample), most_(std::clamp<std::size_t>(kRecentBytes / (4 * sample.n_rows() + 1), 1, kMostRecent)) {}

std::shared_ptr<const RowPartition> RecentPartitions::of(Variables variables) {
    std::sort(variables.begin(), variables.end());
    {
        const std::lock_guard<std::mutex> lock(looking_);
        for (const Kept &own : kept_)
            if (own.variables == variables) return own.made;
    }
    auto made = std::make_shared<const RowPartition>(sample_, variables);
    const std::lock_guard<std::mutex> lock(looking_);
    if (kept_.size() < most_) {
        kept_.push_back({std::move(variables), made});
    } else {
        kept_[next_] = {std::move(variables), made};
        next_ = (next_ + 1) % most_;
    }
    return made;
}

template <class Count>
void Layers<Count>::read(const Sample &sample, std::size_t x, std::size_t z, const RowPartition &given,
                         bool with_pearson) {
    n_x_ = sample.n_values(x);
    n_z_ = sample.n_values(z);
    with_pearson_ = with_pearson;
    fields_ = given.fields;
    if (sample.code_size() == 1) read_layers<std::uint8_t>(sample, x, z, given);
    else read_layers<std::uint16_t>(sample, x, z, given);
}

// Rows that lack x or z, or have no weight, are left out.
template <class Count>
template <class Code>
void Layers<Count>::read_layers(const Sample &sample, std::size_t x, std::size_t z, const RowPartition &given) {
    const Code *of_x = sample.column<Code>(x), *of_z = sample.column<Code>(z);
    cells_.start(n_x_, n_z_, with_pearson_);
    layers_.resize(given.keys.size());
    rows_.resize(given.rows.size());
    std::uint32_t from = 0, to = 0;
    for (std::size_t at = 0; at < layers_.size(); ++at) {
        Layer &own = layers_[at];
        own = {given.keys[at], given.missing[at], to, to, kMixed, kMixed, {}};
        for (; from < given.ends[at]; ++from) {
            const std::uint32_t r = given.rows[from];
            if (of_x[r] >= n_x_ || of_z[r] >= n_z_) continue;
            if constexpr (std::is_integral_v<Count>) cells_.take({of_x[r], of_z[r], 1});
            else if (sample.weight(r) > 0.0) cells_.take({of_x[r], of_z[r], sample.weight(r)});
        }
        own.x = cells_.only_x();
        own.z = cells_.only_z();
        own.figures = cells_.finish([&](const Row &row) { rows_[to++] = row; });
        own.end = to;
    }
}

// Layers that are the same under the mask, in the order in which they first appear; without those that lack a variable
// that is needed.
template <class Count>
void Layers<Count>::chain_layers(std::uint64_t mask, std::uint32_t needed) {
    numbers_.start(layers_.size(), mask);
    chains_.resize(layers_.size());
    next_.assign(layers_.size(), kNone);
    for (std::uint32_t at = 0; at < layers_.size(); ++at) {
        const Layer &own = layers_[at];
        if ((own.missing & needed) != 0) continue;
        const std::uint32_t known = numbers_.size();
        Chain &chain = chains_[numbers_.of(own.key & mask)];
        if (numbers_.size() > known) {
            chain = {at, at, own.x, own.z, own.figures.rows};
            continue;
        }
        next_[chain.last] = at;
        chain.last = at;
        chain.x = chain.x == own.x ? own.x : kMixed;
        chain.z = chain.z == own.z ? own.z : kMixed;
        chain.rows += own.figures.rows;
    }
    chains_.resize(numbers_.size());
}

template <class Count>
Information Layers<Count>::information() const {
    LayerFigures sum;
    double n_layers = 1.0;
    for (const Field &own : fields_) n_layers *= static_cast<double>(own.n_values);
    for (const Layer &own : layers_)
        if (own.missing == 0) sum.add(own.figures);
    return sum.information(n_x_, n_z_, n_layers, with_pearson_);
}

template <class Count>
Information Layers<Count>::without(std::size_t variable) {
    std::uint64_t mask = 0;
    std::uint32_t needed = 0;
    double n_layers = 1.0;
    for (const Field &own : fields_) {
        if (own.variable == variable) continue;
        mask |= own.mask;
        needed |= flag(own);
        n_layers *= static_cast<double>(own.n_values);
    }
    chain_layers(mask, needed);
    LayerFigures sum;
    for (const Chain &chain : chains_) {
        if (chain.first == chain.last) {
            sum.add(layers_[chain.first].figures);
            continue;
        }
        if (chain.x != kMixed || chain.z != kMixed) {  // a constant tells nothing
            sum.rows += chain.rows;
            continue;
        }
        for (std::uint32_t at = chain.first; at != kNone; at = next_[at])
            for (std::uint32_t k = layers_[at].begin; k < layers_[at].end; ++k) cells_.take(rows_[k]);
        sum.add(cells_.finish());
    }
    return sum.information(n_x_, n_z_, n_layers, with_pearson_);
}

template <class Count>
void Layers<Count>::narrow(const Variables &given) {
    std::vector<Field> kept;
    std::vector<std::uint32_t> flags;  // as they were
    std::uint64_t mask = 0;
    for (const Field &own : fields_) {
        if (std::find(given.begin(), given.end(), own.variable) == given.end()) continue;
        kept.push_back(own);
        flags.push_back(flag(own));
        mask |= own.mask;
    }
    chain_layers(mask, 0);
    merged_.clear();
    merged_rows_.clear();
    for (const Chain &chain : chains_) {
        const std::uint32_t first = chain.first, begin = static_cast<std::uint32_t>(merged_rows_.size());
        Layer own{layers_[first].key & mask, 0, begin, begin, kMixed, kMixed, {}};
        for (std::size_t k = 0; k < kept.size(); ++k)
            if ((layers_[first].missing & flags[k]) != 0) own.missing |= std::uint32_t{1} << k;
        for (std::uint32_t at = first; at != kNone; at = next_[at])
            for (std::uint32_t k = layers_[at].begin; k < layers_[at].end; ++k) cells_.take(rows_[k]);
        own.x = cells_.only_x();
        own.z = cells_.only_z();
        own.figures = cells_.finish([&](const Row &row) { merged_rows_.push_back(row); });
        own.end = static_cast<std::uint32_t>(merged_rows_.size());
        merged_.push_back(own);
    }
    fields_ = std::move(kept);
    layers_.swap(merged_);
    rows_.swap(merged_rows_);
}

template class Layers<std::uint32_t>;
template class Layers<double>;

}  // namespace tanager
