#include "layers.hpp"

#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>

namespace tanager {

namespace {

constexpr std::uint32_t kNoneBefore = ~std::uint32_t{0};
constexpr std::uint32_t kFewRows = 6;       // of a layer with a constant; equal ones of more are merged
constexpr double kRounding = 1e-9;          // far more than sums lose
constexpr std::size_t kDirectSlots = 4096;  // of keys, however few there are: to clear them takes less than hashing
constexpr std::size_t kMostFields = 32;
constexpr std::size_t kMostRecent = 256;
constexpr std::size_t kRecentBytes = std::size_t{1} << 24;

int bits_of(std::size_t n_values) { return int(std::bit_width(n_values)); }  // n_values itself means missing

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

// What partitions are made in.
struct PartitionRoom {
    std::vector<std::uint64_t> keys;           // of every row
    std::vector<std::uint32_t> missing, part;  // of every row
    std::vector<std::uint32_t> next;           // of every part: its size, then the place of its next row
    KeyNumbers numbers;
};

// Fresh memory for every partition would take as long as the work.
[[gnu::noinline]] PartitionRoom &partition_room() {
    thread_local PartitionRoom room;
    return room;
}

}  // namespace

void KeyNumbers::start(std::size_t n, std::uint64_t most) {
    std::size_t n_slots = 64;
    while (n_slots < 4 * n) n_slots *= 2;  // a miss costs more than the room
    direct_ = most < std::max(n_slots, kDirectSlots);
    shift_ = 64 - std::countr_zero(n_slots);
    slots_.assign(direct_ ? most + 1 : n_slots, none);
    if (keys_.size() < n + 1) keys_.resize(n + 1);
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
    PartitionRoom &room = partition_room();
    room.keys.assign(n_rows, 0);
    room.missing.assign(n_rows, 0);
    room.part.resize(n_rows);
    room.next.assign(n_rows + 1, 0);
    if (sample.code_size() == 1) read_keys<std::uint8_t>(sample, fields, room.keys, room.missing);
    else read_keys<std::uint16_t>(sample, fields, room.keys, room.missing);
    room.numbers.start(n_rows, most);
    for (std::size_t r = 0; r < n_rows; ++r) ++room.next[room.part[r] = room.numbers.of(room.keys[r])];
    parts.resize(room.numbers.size());
    for (std::uint32_t own = 0, begin = 0; own < parts.size(); ++own) begin += std::exchange(room.next[own], begin);
    rows.resize(n_rows);
    for (std::size_t r = 0; r < n_rows; ++r) {
        const std::uint32_t own = room.part[r];
        rows[room.next[own]++] = {static_cast<std::uint32_t>(r), own};
        parts[own] = {room.keys[r], room.missing[r]};
    }
}

RecentPartitions::RecentPartitions(const Sample &sample)
    : sample_(sample), most_(std::clamp<std::size_t>(kRecentBytes / (8 * sample.n_rows() + 1), 1, kMostRecent)) {}

std::shared_ptr<const RowPartition> RecentPartitions::of(Variables variables) {
    std::sort(variables.begin(), variables.end());
    std::uint64_t hash = 0;
    for (const std::size_t i : variables) hash = (hash ^ i) * 0x9E3779B97F4A7C15u + (hash >> 29);
    {
        const std::lock_guard<std::mutex> lock(looking_);
        for (const Kept &own : kept_)
            if (own.hash == hash && own.variables == variables) return own.made;
    }
    auto made = std::make_shared<const RowPartition>(sample_, variables);
    const std::lock_guard<std::mutex> lock(looking_);
    if (kept_.size() < most_) {
        kept_.push_back({hash, std::move(variables), made});
    } else {
        kept_[next_] = {hash, std::move(variables), made};
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

// Rows that lack x or z, or have no weight, are left out. Branches would be missed at the end of most layers.
template <class Count>
template <class Code>
void Layers<Count>::read_layers(const Sample &sample, std::size_t x, std::size_t z, const RowPartition &given) {
    const Code *of_x = sample.column<Code>(x), *of_z = sample.column<Code>(z);
    const bool few_x = n_x_ <= 64, few_z = n_z_ <= 64;
    layers_.clear();
    for (const RowPartition::Part &part : given.parts) layers_.push_back({part.key, {}, {}, 0, 0, part.missing});
    rows_.resize(given.rows.size() + 1);  // and room for a row that is left out
    std::uint32_t to = 0;
    for (const auto &[r, part] : given.rows) {
        const std::uint32_t v = of_x[r], w = of_z[r];
        Layer &own = layers_[part];
        bool present = v < n_x_ && w < n_z_;
        Row &row = rows_[to] = {v, w, 1};
        if constexpr (!std::is_integral_v<Count>) {
            row.n = sample.weight(r);
            present = present && row.n > 0.0;
        }
        to += present;
        own.end = to;
        own.figures.rows += present ? static_cast<double>(row.n) : 0.0;
        own.values.x |= few_x ? std::uint64_t{present} << (v & 63) : -std::uint64_t{present};
        own.values.z |= few_z ? std::uint64_t{present} << (w & 63) : -std::uint64_t{present};
    }
    cells_.start(n_x_, n_z_, with_pearson_);
    std::uint32_t begin = 0;
    for (Layer &own : layers_) {
        own.begin = begin;
        begin = own.end;
        finish_layer(own, rows_);
    }
}

// What a layer tells, from its rows. Equal rows are merged where there are many.
template <class Count>
void Layers<Count>::finish_layer(Layer &own, std::vector<Row> &rows) {
    if (!own.values.mixed() && own.end - own.begin <= kFewRows) return;
    for (std::uint32_t k = own.begin; k < own.end; ++k) cells_.take(rows[k]);
    own.end = own.begin;
    own.figures = cells_.finish([&](const Row &row) { rows[own.end++] = row; });
}

// Layers of the same key, in the order in which they first appear, without those that lack a variable that is needed.
// Returns the weight of their rows.
template <class Count>
template <class Key>
double Layers<Count>::chain_layers(std::uint64_t most, std::uint32_t needed, const Key &key) {
    numbers_.start(layers_.size(), most);
    chains_.assign(layers_.size(), Chain{{}, 0.0, kNoneBefore, 0});
    before_.resize(layers_.size());
    double rows = 0.0;
    for (std::uint32_t at = 0; at < layers_.size(); ++at) {
        const Layer &own = layers_[at];
        if ((own.missing & needed) != 0) continue;
        Chain &chain = chains_[numbers_.of(key(own.key))];
        chain.values.x |= own.values.x;
        chain.values.z |= own.values.z;
        chain.sum += own.figures.sum;
        before_[at] = chain.last;
        chain.last = at;
        ++chain.size;
        rows += own.figures.rows;
    }
    chains_.resize(numbers_.size());
    return rows;
}

// Keys without the field are as small as can be.
template <class Count>
double Layers<Count>::chain_without(const Field &field) {
    std::uint64_t most = 0;
    std::uint32_t needed = 0;
    for (const Field &own : fields_) {
        if (own.variable == field.variable) continue;
        most |= own.mask;
        needed |= flag(own);
    }
    const int above = field.shift + std::popcount(field.mask), below = field.shift;
    const std::uint64_t low = (std::uint64_t{1} << below) - 1;
    const auto key = [=](std::uint64_t whole) { return whole >> above << below | (whole & low); };
    return chain_layers(key(most), needed, key);
}

template <class Count>
void Layers<Count>::take_chain(const Chain &chain) {
    for (std::uint32_t at = chain.last; at != kNoneBefore; at = before_[at])
        for (std::uint32_t k = layers_[at].begin; k < layers_[at].end; ++k) cells_.take(rows_[k]);
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
std::optional<Information> Layers<Count>::without(std::size_t variable, double most) {
    const Field &field =
        *std::find_if(fields_.begin(), fields_.end(), [&](const Field &own) { return own.variable == variable; });
    LayerFigures sum;
    sum.rows = chain_without(field);
    merging_.resize(chains_.size() + 1);
    std::size_t n_merging = 0;
    for (std::uint32_t c = 0; c < chains_.size(); ++c) {
        const bool mixed = chains_[c].mixed();
        merging_[n_merging] = c;
        n_merging += mixed;
        sum.sum += mixed ? 0.0 : chains_[c].sum;
    }
    const double too_much = (most + kRounding) * sum.rows;  // no layer takes information away
    for (std::size_t k = 0; k < n_merging && !(sum.sum > too_much); ++k) {
        take_chain(chains_[merging_[k]]);
        const LayerFigures own = cells_.finish();
        sum.sum += own.sum;
        sum.df += own.df;
        sum.pearson += own.pearson;
    }
    if (sum.sum > too_much) return {};
    for (const Chain &chain : chains_)
        if (!chain.mixed()) {
            sum.df += layers_[chain.last].figures.df;  // a constant has none
            sum.pearson += layers_[chain.last].figures.pearson;
        }
    double n_layers = 1.0;
    for (const Field &own : fields_)
        if (&own != &field) n_layers *= static_cast<double>(own.n_values);
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
    chain_layers(mask, 0, [=](std::uint64_t key) { return key & mask; });
    merged_.clear();
    merged_rows_.clear();
    for (const Chain &chain : chains_) {
        const auto begin = static_cast<std::uint32_t>(merged_rows_.size());
        const Layer &last = layers_[chain.last];
        Layer own{last.key & mask, chain.values, {}, begin, begin, 0};
        for (std::size_t k = 0; k < kept.size(); ++k)
            if ((last.missing & flags[k]) != 0) own.missing |= std::uint32_t{1} << k;
        for (std::uint32_t at = chain.last; at != kNoneBefore; at = before_[at]) {
            const Layer &one = layers_[at];
            merged_rows_.insert(merged_rows_.end(), rows_.begin() + one.begin, rows_.begin() + one.end);
            own.figures.rows += one.figures.rows;
        }
        own.end = static_cast<std::uint32_t>(merged_rows_.size());
        if (chain.size == 1) own.figures = last.figures;
        else finish_layer(own, merged_rows_);
        merged_rows_.resize(own.end);
        merged_.push_back(own);
    }
    fields_ = std::move(kept);
    layers_.swap(merged_);
    rows_.swap(merged_rows_);
}

template class Layers<std::uint32_t>;
template class Layers<double>;

}  // namespace tanager
