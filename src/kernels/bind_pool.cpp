// Half-lives side by side and the pool of their answers, for Python: all arrays are checked here.
#include "bind_arrays.hpp"
#include "bind_store.hpp"
#include "half_lives.hpp"
#include "naive_half_lives.hpp"
#include "pool.hpp"

namespace pool_bindings {
using namespace arrays;
using namespace tanager;

namespace {

using Line = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Cube = nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Answers = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Fades = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Counters = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Plane = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// --- half-lives ----------------------------------------------------------------------------------------------------

half_lives::Members as_members(PyStore &held, const Counters &n_values, const Line &units, double pseudo,
                               double min_count) {
    Store &s = held.store;
    const int n_members = int(units.shape(0));
    expect(n_members > 0 && s.k > 0 && s.k % n_members == 0, "the lanes must be classes times members");
    expect(s.classes && s.pairs, "half-lives side by side need counts of pairs");
    for (int m = 0; m < n_members; ++m)
        expect(units.data()[m] > 0 && std::isfinite(units.data()[m]), "a unit must be positive");
    expect(pseudo > 0 && std::isfinite(pseudo), "the pseudo-count must be positive");
    expect(min_count >= 0, "min_count must not be negative");
    expect(int(n_values.shape(0)) == s.n, "there must be a number of values for each column");
    for (int i = 0; i < s.n; ++i)
        expect(0 <= n_values.data()[i] && n_values.data()[i] < s.n_slots[i],
               "a column needs a slot for each of its values, and one for missing cells");
    return {s, n_values.data(), n_members, units.data(), pseudo, min_count};
}

double *as_cube(const Cube &cube, std::int64_t n_rows, int n_members, int n_classes) {
    expect(std::int64_t(cube.shape(0)) == n_rows && int(cube.shape(1)) == n_members && int(cube.shape(2)) == n_classes,
           "answers must be of shape (rows, members, classes)");
    return cube.data();
}

// Rows to answer and to learn, and where the answers go: the same for both kinds of members.
template <class Stream>
Stream as_stream(int n_columns, int n_members, int n_classes, const AnyArray &codes, const AnyArray &labels,
                 const std::optional<WeightArray> &weights, const Fades &fade, const Counters &halved,
                 const std::optional<Cube> &judged, const std::optional<AnyArray> &answered,
                 const std::optional<Cube> &answers) {
    Stream stream{as_batch(codes, labels, weights, n_columns), fade.data(), {}, nullptr, nullptr, halved.data()};
    const std::int64_t n_rows = stream.rows.n_rows();
    expect(
        int(fade.shape(0)) == n_members && std::int64_t(fade.shape(1)) == n_rows && int(halved.shape(0)) == n_members,
        "there must be one factor to fade by per member and row");
    for (std::int64_t q = 0; q < n_rows * n_members; ++q)
        expect(fade.data()[q] > 0 && fade.data()[q] <= 1, "a factor to fade by is above 0 and at most 1");
    if (judged) stream.judged = as_cube(*judged, n_rows, n_members, n_classes);
    expect(answered.has_value() == answers.has_value(), "rows to answer and room for their answers go together");
    if (answered) {
        stream.answered = as_codes(*answered, n_columns);
        expect(stream.answered->n_rows == n_rows, "as many rows are answered as are learned");
        stream.answers = as_cube(*answers, n_rows, n_members, n_classes);
    }
    return stream;
}

void answer_half_lives(PyStore &store, const Counters &n_values, const Line &units, double pseudo, double min_count,
                       const AnyArray &codes_, const Cube &out) {
    const half_lives::Members members = as_members(store, n_values, units, pseudo, min_count);
    const Codes codes = as_codes(codes_, members.store.n);
    double *answers = as_cube(out, codes.n_rows, members.n_members, members.n_classes());
    nb::gil_scoped_release release;
    half_lives::answer(members, codes, answers);
}

std::int64_t stream_half_lives(PyStore &store, const Counters &n_values, const Line &units, double pseudo,
                               double min_count, const AnyArray &codes, const AnyArray &labels,
                               const std::optional<WeightArray> &weights, const Fades &fade, const Counters &halved,
                               const std::optional<Cube> &judged, const std::optional<AnyArray> &answered,
                               const std::optional<Cube> &answers) {
    half_lives::Members members = as_members(store, n_values, units, pseudo, min_count);
    auto stream = as_stream<half_lives::Stream>(members.store.n, members.n_members, members.n_classes(), codes, labels,
                                                weights, fade, halved, judged, answered, answers);
    nb::gil_scoped_release release;
    return half_lives::test_then_train(members, stream);
}

// --- naive Bayes -----------------------------------------------------------------------------------------------------

naive_half_lives::Members as_naive(const Integers &offsets, const Counters &n_values, const Line &classes,
                                   const Plane &singles, const Line &units, double pseudo) {
    const std::int64_t n = std::int64_t(n_values.shape(0)), *from = offsets.data();
    const int n_members = int(units.shape(0)), lanes = int(classes.shape(0));
    expect(n_members > 0 && lanes > 0 && lanes % n_members == 0, "the lanes must be classes times members");
    expect(n < std::numeric_limits<int>::max() && std::int64_t(offsets.shape(0)) == n + 1 && from[0] == 0,
           "there must be one more offset than columns");
    for (std::int64_t i = 0; i < n; ++i)
        expect(0 <= n_values.data()[i] && from[i] < from[i + 1] && n_values.data()[i] < from[i + 1] - from[i],
               "a column needs a slot for each of its values, and one for missing cells");
    expect(std::int64_t(singles.shape(0)) == from[n] && int(singles.shape(1)) == lanes,
           "the cells must be of shape (slots, lanes)");
    for (int m = 0; m < n_members; ++m)
        expect(units.data()[m] > 0 && std::isfinite(units.data()[m]), "a unit must be positive");
    expect(pseudo > 0 && std::isfinite(pseudo), "the pseudo-count must be positive");
    return {int(n),         lanes / n_members, n_members,    from,  n_values.data(),
            classes.data(), singles.data(),    units.data(), pseudo};
}

void answer_naive_half_lives(const Integers &offsets, const Counters &n_values, const Line &classes,
                             const Plane &singles, const Line &units, double pseudo, const AnyArray &codes_,
                             const Cube &out) {
    const naive_half_lives::Members members = as_naive(offsets, n_values, classes, singles, units, pseudo);
    const Codes codes = as_codes(codes_, members.n);
    double *answers = as_cube(out, codes.n_rows, members.n_members, members.n_classes);
    nb::gil_scoped_release release;
    naive_half_lives::answer(members, codes, answers);
}

std::int64_t stream_naive_half_lives(const Integers &offsets, const Counters &n_values, const Line &classes,
                                     const Plane &singles, const Line &units, double pseudo, const AnyArray &codes,
                                     const AnyArray &labels, const std::optional<WeightArray> &weights,
                                     const Fades &fade, const Counters &halved, const std::optional<Cube> &judged,
                                     const std::optional<AnyArray> &answered, const std::optional<Cube> &answers) {
    naive_half_lives::Members members = as_naive(offsets, n_values, classes, singles, units, pseudo);
    auto stream = as_stream<naive_half_lives::Stream>(members.n, members.n_members, members.n_classes, codes, labels,
                                                      weights, fade, halved, judged, answered, answers);
    nb::gil_scoped_release release;
    return naive_half_lives::test_then_train(members, stream);
}

// --- the pool ------------------------------------------------------------------------------------------------------

pool::Pool as_pool(const std::string &kind, const Line &weights, const Line &square, double step, double keep,
                   double share, double least, std::size_t n_members, std::size_t n_classes) {
    expect(kind == "logarithmic" || kind == "linear", "a pool is logarithmic or linear");
    expect(weights.shape(0) == n_members && n_members > 0, "there must be one weight per member");
    expect(square.shape(0) == 1, "there is one sum of squares");
    expect(n_classes > 0 && n_classes < 0xFFFF, "there must be a class");
    expect(step >= 0 && keep > 0 && keep <= 1 && share >= 0 && share <= 1 && least > 0 && least < 1,
           "a setting of the pool is out of bounds");
    return {
        kind == "logarithmic", int(n_members), int(n_classes), weights.data(), square.data(), step, keep, share, least};
}

// --- single rows ---------------------------------------------------------------------------------------------------

struct Aodes {
    using Members = half_lives::Members;
    using Stream = half_lives::Stream;
    static constexpr auto answer = half_lives::answer;
    static constexpr auto test_then_train = half_lives::test_then_train;
};
struct Naives {
    using Members = naive_half_lives::Members;
    using Stream = naive_half_lives::Stream;
    static constexpr auto answer = naive_half_lives::answer;
    static constexpr auto test_then_train = naive_half_lives::test_then_train;
};
int columns_of(const half_lives::Members &members) { return members.store.n; }
int columns_of(const naive_half_lives::Members &members) { return members.n; }

// What members say of single rows, and what their pool makes of it: arrays are looked at once, and not for every row.
// The GIL is kept, as a row takes a microsecond or two.
template <class Kind>
class PooledRows {
    using Members = typename Kind::Members;

  public:
    PooledRows(const Members &members, std::shared_ptr<void> held, const Fades &fade, const Counters &halved,
               const pool::Pool &pool)
        : members_(members), pool_(pool), held_(std::move(held)), fade_(fade), halved_(halved),
          said_(std::size_t(pool.n_members) * std::size_t(pool.n_classes)), mixed_(std::size_t(pool.n_classes)) {
        expect(int(fade.shape(0)) == pool.n_members && fade.shape(1) == 1 && int(halved.shape(0)) == pool.n_members,
               "there must be one factor to fade by per member");
        for (int m = 0; m < pool.n_members; ++m)
            expect(fade.data()[m] > 0 && fade.data()[m] <= 1, "a factor to fade by is above 0 and at most 1");
    }

    nb::list answer(nb::handle codes) {
        const RowOfCodes row(codes, columns_of(members_));
        said_of_ = nb::object();
        Kind::answer(members_, row, said_.data());
        said_of_ = nb::borrow(codes);
        pool::mix(pool_, said_.data(), 1, mixed_.data());
        nb::list answer;
        for (const double p : mixed_) answer.append(p);
        return answer;
    }

    // Whether the row was learned, by members and pool; nothing has changed where a value or its class is not known.
    bool learn(nb::handle codes, std::uint16_t label, double weight) {
        const RowOfCodes row(codes, columns_of(members_));
        // What was said of bytes that are the same is said of this row, too: it is often the one that was answered
        // last.
        const bool known = said_of_.is_valid() && PyBytes_CheckExact(codes.ptr()) &&
                           PyBytes_CheckExact(said_of_.ptr()) && said_of_.equal(codes);
        said_of_ = nb::object();
        const auto *labels = reinterpret_cast<const std::byte *>(&label);
        const Codes label_codes{labels, true, 1, sizeof label, sizeof label};
        const Weights weights{reinterpret_cast<const std::byte *>(&weight), 0};
        typename Kind::Stream stream{{row, label_codes, weights}, fade_.data(), {}, nullptr, nullptr, halved_.data()};
        if (!known) stream.judged = said_.data();
        if (Kind::test_then_train(members_, stream) == 0) return false;
        pool::learn(pool_, said_.data(), said_.data(), label_codes, weights, mixed_.data(), nullptr);
        return true;
    }

  private:
    Members members_;
    pool::Pool pool_;
    std::shared_ptr<void> held_;  // the arrays that members and pool point into
    Fades fade_;
    Counters halved_;
    std::vector<double> said_, mixed_;
    nb::object said_of_;  // the codes that `said_` is about, while no row has been learned since
};

// What a Pool of Python is made of, in the order of the arguments of the kernels.
using PoolSettings = std::tuple<std::string, Line, Line, double, double, double, double>;

pool::Pool as_pool(const PoolSettings &settings, int n_members, int n_classes) {
    const auto &[kind, weights, square, step, keep, share, least] = settings;
    return as_pool(kind, weights, square, step, keep, share, least, std::size_t(n_members), std::size_t(n_classes));
}

template <class... Part>
std::shared_ptr<void> as_held(const Part &...part) {
    return std::make_shared<std::tuple<Part...>>(part...);
}

double *as_mixed(const Plane &out, const Answers &answers) {
    expect(out.shape(0) == answers.shape(0) && out.shape(1) == answers.shape(2),
           "the output must be of shape (rows, classes)");
    return out.data();
}

}  // namespace
}  // namespace pool_bindings

void bind_pool(nb::module_ &m) {
    using namespace pool_bindings;
    using namespace nb::literals;
    m.def("answer_half_lives", &answer_half_lives, "store"_a, "n_values"_a.noconvert(), "units"_a.noconvert(),
          "pseudo"_a, "min_count"_a, "codes"_a, "out"_a.noconvert());
    m.def("stream_half_lives", &stream_half_lives, "store"_a, "n_values"_a.noconvert(), "units"_a.noconvert(),
          "pseudo"_a, "min_count"_a, "codes"_a, "labels"_a, "weights"_a.none(), "fade"_a, "halved"_a.noconvert(),
          "judged"_a.none().noconvert(), "answered"_a.none() = nb::none(), "answers"_a.none().noconvert() = nb::none());
    m.def("answer_naive_half_lives", &answer_naive_half_lives, "offsets"_a, "n_values"_a.noconvert(),
          "classes"_a.noconvert(), "singles"_a.noconvert(), "units"_a.noconvert(), "pseudo"_a, "codes"_a,
          "out"_a.noconvert());
    m.def("stream_naive_half_lives", &stream_naive_half_lives, "offsets"_a, "n_values"_a.noconvert(),
          "classes"_a.noconvert(), "singles"_a.noconvert(), "units"_a.noconvert(), "pseudo"_a, "codes"_a, "labels"_a,
          "weights"_a.none(), "fade"_a, "halved"_a.noconvert(), "judged"_a.none().noconvert(),
          "answered"_a.none() = nb::none(), "answers"_a.none().noconvert() = nb::none());
    nb::class_<PooledRows<Aodes>>(m, "PooledAodes")
        .def(
            "__init__",
            [](PooledRows<Aodes> *self, std::shared_ptr<PyStore> store, const Counters &n_values, const Line &units,
               double pseudo, double min_count, const Fades &fade, const Counters &halved, const PoolSettings &pool) {
                const half_lives::Members members = as_members(*store, n_values, units, pseudo, min_count);
                const pool::Pool own = as_pool(pool, members.n_members, members.n_classes());
                new (self) PooledRows<Aodes>(members, as_held(store, n_values, units, pool), fade, halved, own);
            },
            "store"_a, "n_values"_a.noconvert(), "units"_a.noconvert(), "pseudo"_a, "min_count"_a, "fade"_a.noconvert(),
            "halved"_a.noconvert(), "pool"_a.noconvert())
        .def("answer", &PooledRows<Aodes>::answer)
        .def("learn", &PooledRows<Aodes>::learn);
    nb::class_<PooledRows<Naives>>(m, "PooledNaives")
        .def(
            "__init__",
            [](PooledRows<Naives> *self, const Integers &offsets, const Counters &n_values, const Line &classes,
               const Plane &singles, const Line &units, double pseudo, const Fades &fade, const Counters &halved,
               const PoolSettings &pool) {
                const naive_half_lives::Members members = as_naive(offsets, n_values, classes, singles, units, pseudo);
                const pool::Pool own = as_pool(pool, members.n_members, members.n_classes);
                auto held = as_held(offsets, n_values, classes, singles, units, pool);
                new (self) PooledRows<Naives>(members, std::move(held), fade, halved, own);
            },
            "offsets"_a.noconvert(), "n_values"_a.noconvert(), "classes"_a.noconvert(), "singles"_a.noconvert(),
            "units"_a.noconvert(), "pseudo"_a, "fade"_a.noconvert(), "halved"_a.noconvert(), "pool"_a.noconvert())
        .def("answer", &PooledRows<Naives>::answer)
        .def("learn", &PooledRows<Naives>::learn);
    m.def(
        "mix_pool",
        [](const std::string &kind, const Line &weights, const Line &square, double step, double keep, double share,
           double least, const Answers &answers, const Plane &out) {
            const pool::Pool own =
                as_pool(kind, weights, square, step, keep, share, least, answers.shape(1), answers.shape(2));
            double *mixed = as_mixed(out, answers);
            nb::gil_scoped_release release;
            pool::mix(own, answers.data(), std::int64_t(answers.shape(0)), mixed);
        },
        "kind"_a, "weights"_a.noconvert(), "square"_a.noconvert(), "step"_a, "keep"_a, "share"_a, "least"_a,
        "answers"_a, "out"_a.noconvert());
    m.def(
        "learn_pool",
        [](const std::string &kind, const Line &weights, const Line &square, double step, double keep, double share,
           double least, const Answers &answers, const std::optional<Answers> &judged, const AnyArray &labels_,
           const std::optional<WeightArray> &row_weights, const Plane &out, const std::optional<Plane> &trace) {
            pool::Pool own =
                as_pool(kind, weights, square, step, keep, share, least, answers.shape(1), answers.shape(2));
            const std::int64_t n_rows = std::int64_t(answers.shape(0));
            const Codes labels = as_labels(labels_, n_rows);
            const Weights of_rows = as_weights(row_weights, n_rows);
            double *mixed = as_mixed(out, answers);
            for (std::size_t d = 0; judged && d < 3; ++d)
                expect(judged->shape(d) == answers.shape(d), "as many answers are judged as are given");
            expect(!trace || (trace->shape(0) == answers.shape(0) && trace->shape(1) == answers.shape(1)),
                   "the trace must be of shape (rows, members)");
            const double *known = judged ? judged->data() : answers.data();
            double *path = trace ? trace->data() : nullptr;
            nb::gil_scoped_release release;
            pool::learn(own, answers.data(), known, labels, of_rows, mixed, path);
        },
        "kind"_a, "weights"_a.noconvert(), "square"_a.noconvert(), "step"_a, "keep"_a, "share"_a, "least"_a,
        "answers"_a, "judged"_a.none(), "labels"_a, "row_weights"_a.none(), "out"_a.noconvert(),
        "trace"_a.none().noconvert() = nb::none());
}
