// Evolving naive Bayes for Python. Arrays are checked here, rows are learned without the GIL.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "bind_arrays.hpp"
#include "evolving.hpp"
#include "threads.hpp"

using namespace arrays;
using tanager::Evolving;
using tanager::EvolvingOptions;
using tanager::EvolvingState;

namespace {

using Numbers = nb::ndarray<const double, nb::ndim<2>, nb::device::cpu>;
using OneRow = nb::ndarray<const double, nb::ndim<1>, nb::device::cpu>;

// A table as the kernel reads it: row after row, into one buffer.
struct Rows {
    Codes codes;
    const double *numbers;
    std::int64_t row_step, column_step;
    std::vector<double> x;
    std::vector<int> v;

    Rows(const Evolving &model, const AnyArray &codes_, const Numbers &numbers_)
        : codes(as_codes(codes_, model.n_columns())), numbers(numbers_.data()), row_step(numbers_.stride(0)),
          column_step(numbers_.stride(1)), x(std::size_t(model.n_numbers())), v(std::size_t(model.n_columns())) {
        expect(std::int64_t(numbers_.shape(0)) == codes.n_rows, "codes and numbers must have the same rows");
        expect(std::int64_t(numbers_.shape(1)) == model.n_numbers(), "the numbers have other columns than the model");
    }
    Rows(const Evolving &model, const AnyArray &codes_, const OneRow &numbers_)
        : codes(as_row(codes_, model.n_columns())), numbers(numbers_.data()), row_step(0),
          column_step(numbers_.stride(0)), x(std::size_t(model.n_numbers())), v(std::size_t(model.n_columns())) {
        expect(std::int64_t(numbers_.shape(0)) == model.n_numbers(), "a row has one number per column");
    }
    Evolving::Row at(std::int64_t r) {
        const double *from = numbers + r * row_step;
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = from[std::int64_t(i) * column_step];
        for (std::size_t i = 0; i < v.size(); ++i) {
            const int code = codes.at(r, int(i));
            v[i] = code == codes.marker() ? -1 : code;
        }
        return {x.data(), v.data()};
    }
    // How many values each column needs.
    std::vector<int> limits() {
        std::vector<int> most(v.size(), 0);
        if (most.empty()) return most;
        for (std::int64_t r = 0; r < codes.n_rows; ++r) {
            at(r);
            for (std::size_t i = 0; i < v.size(); ++i) most[i] = std::max(most[i], v[i] + 1);
        }
        return most;
    }
};

void learn(Evolving &self, const AnyArray &codes, const Numbers &numbers, const AnyArray &labels_,
           std::optional<Weights> weights_, std::optional<Doubles> out_, std::optional<AnyArray> answered_codes,
           std::optional<Numbers> answered_numbers) {
    Rows rows(self, codes, numbers);
    const std::int64_t m = rows.codes.n_rows;
    const Codes labels = as_labels(labels_, m);
    const double *weights = as_weights(weights_, m);
    const int k = self.n_classes();
    for (std::int64_t r = 0; r < m; ++r)
        expect(labels.at(r, 0) < k || labels.at(r, 0) == labels.marker(), "a label is none of the classes");
    expect(k > 0 || m == 0, "there are no classes yet");
    double *out = out_ ? as_output(*out_, m, k) : nullptr;
    std::optional<Rows> answered;
    expect(bool(answered_codes) == bool(answered_numbers), "answered rows need codes and numbers");
    if (answered_codes) {
        answered.emplace(self, *answered_codes, *answered_numbers);
        expect(answered->codes.n_rows == m, "there must be one answered row per row");
    }
    nb::gil_scoped_release release;
    self.reserve_values(rows.limits());
    Evolving::Scores scores;
    for (std::int64_t r = 0; r < m; ++r) {
        if (out && answered) {
            self.answer(answered->at(r), scores);
            std::copy_n(scores.classes.data(), k, out + r * k);
        }
        const Evolving::Row row = rows.at(r);
        self.answer(row, scores);
        if (out && !answered) std::copy_n(scores.classes.data(), k, out + r * k);
        const int label = labels.at(r, 0);
        self.learn(row, label == labels.marker() ? -1 : label, weights ? weights[r] : 1, scores);
    }
}

void learn_one(Evolving &self, const AnyArray &codes, const OneRow &numbers, int label, double weight) {
    Rows rows(self, codes, numbers);
    expect(label >= -1 && label < self.n_classes(), "a label is none of the classes");
    expect(self.n_classes() > 0, "there are no classes yet");
    const Evolving::Row row = rows.at(0);
    self.reserve_values(rows.limits());
    Evolving::Scores scores;
    self.answer(row, scores);
    self.learn(row, label, weight, scores);
}

void score(const Evolving &self, const AnyArray &codes, const Numbers &numbers, const Doubles &out_, bool log_joint,
           int n_jobs) {
    const Rows whole(self, codes, numbers);
    const int k = self.n_classes();
    double *out = as_output(out_, whole.codes.n_rows, k);
    nb::gil_scoped_release release;
    tanager::parallel_rows(whole.codes.n_rows, n_jobs, [&](std::int64_t begin, std::int64_t end) {
        Rows rows = whole;
        Evolving::Scores scores;
        for (std::int64_t r = begin; r < end; ++r) {
            self.answer(rows.at(r), scores);
            if (log_joint) self.log_joints(scores, out + r * k);
            else std::copy_n(scores.classes.data(), k, out + r * k);
        }
    });
}

std::vector<double> one(const Evolving &self, const AnyArray &codes, const OneRow &numbers) {
    Rows rows(self, codes, numbers);
    Evolving::Scores scores;
    self.answer(rows.at(0), scores);
    return scores.classes;
}

// --- state ---------------------------------------------------------------------------------------------------------

// The parts of a state by name, each one row of numbers, and how long it must be.
template <class S, class Visit>
void each_part(S &s, const Evolving &model, Visit &&visit) {
    const std::size_t pseudo = s.label.size(), k = s.loss.size(), kept = s.kept_weights.size();
    const std::size_t n = std::size_t(model.n_numbers()), q = std::size_t(model.n_columns());
    visit("n_values", s.n_values, q);
    visit("label", s.label, pseudo);
    visit("hidden", s.hidden, pseudo);
    visit("born", s.born, pseudo);
    visit("since", s.since, pseudo);
    visit("last", s.last, pseudo);
    visit("prior", s.prior, pseudo);
    visit("seen", s.seen, pseudo);
    visit("weight", s.weight, pseudo * n);
    visit("mean", s.mean, pseudo * n);
    visit("squares", s.squares, pseudo * n);
    visit("variance", s.variance, pseudo * n);
    visit("totals", s.totals, pseudo * q);
    visit("counts", s.counts,
          pseudo * std::size_t(std::accumulate(s.n_values.begin(), s.n_values.end(), std::int64_t(0))));
    visit("loss", s.loss, k);
    visit("class_weight", s.class_weight, k);
    visit("promoted", s.promoted, k);
    visit("known", s.known, k);
    visit("base_weight", s.base_weight, n);
    visit("base_mean", s.base_mean, n);
    visit("base_squares", s.base_squares, n);
    visit("clock", s.clock, std::size_t(1));
    visit("counters", s.counters, std::size_t(4));
    visit("kept_numbers", s.kept_numbers, kept * n);
    visit("kept_values", s.kept_values, kept * q);
    visit("kept_weights", s.kept_weights, kept);
    visit("kept_target", s.kept_target, kept);
    visit("kept_hidden", s.kept_hidden, kept);
    visit("change_row", s.change_row, s.change_row.size());
    visit("change_kind", s.change_kind, s.change_row.size());
    visit("change_label", s.change_label, s.change_row.size());
    visit("change_active", s.change_active, s.change_row.size());
    visit("change_found", s.change_found, s.change_row.size());
    visit("change_limit", s.change_limit, s.change_row.size());
    visit("change_weight", s.change_weight, s.change_row.size());
}

nb::dict state(const Evolving &self) {
    EvolvingState s = self.state();
    nb::dict out;
    each_part(s, self, [&]<class T>(const char *name, std::vector<T> &part, std::size_t) {
        auto *kept = new std::vector<T>(std::move(part));
        nb::capsule owner(kept, [](void *data) noexcept { delete static_cast<std::vector<T> *>(data); });
        out[name] = nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
    });
    return out;
}

template <class T>
bool within(const std::vector<T> &values, double low, double high) {
    return std::all_of(values.begin(), values.end(), [&](T x) { return double(x) >= low && double(x) <= high; });
}

// Whether the numbers of a state, each part of the right length, mean something together.
bool sound(const EvolvingState &s, const Evolving &model) {
    constexpr double most = 1e300;
    const double k = double(s.loss.size()), pseudo = double(s.label.size());
    if (!within(s.n_values, 0, 65535) || !within(s.label, 0, k - 1) || !within(s.hidden, 0, 1)) return false;
    std::vector<int> hidden(s.loss.size(), 0), active = hidden;
    for (std::size_t p = 0; p < s.label.size(); ++p) {
        ++(s.hidden[p] ? hidden : active)[std::size_t(s.label[p])];
        if ((s.born[p] < 0) != (s.hidden[p] == 1)) return false;
    }
    const auto values = [&](std::size_t j) {
        return s.kept_values[j] >= -1 && s.kept_values[j] < s.n_values[j % s.n_values.size()];
    };
    for (std::size_t j = 0; j < s.kept_values.size(); ++j)
        if (!values(j)) return false;
    return within(hidden, 1, 1) && within(s.known, 0, 1) && within(active, 1, pseudo) && within(s.prior, 0, 1 + 1e-9) &&
           within(s.seen, 0, most) && within(s.weight, 0, most) && within(s.mean, -most, most) &&
           within(s.squares, 0, most) && within(s.variance, 1e-250, most) && within(s.totals, 0, most) &&
           within(s.counts, 0, most) && within(s.loss, 0, most) && within(s.class_weight, 0, most) &&
           within(s.base_weight, 0, most) && within(s.base_mean, -most, most) && within(s.base_squares, 0, most) &&
           within(s.clock, 0, most) && within(s.kept_weights, 0, most) && within(s.kept_target, -1, pseudo - 1) &&
           within(s.kept_hidden, -1, pseudo - 1) && within(s.change_kind, 0, 2) && within(s.change_label, 0, k - 1) &&
           double(s.kept_weights.size()) <= double(model.options().window);
}

void set_state(Evolving &self, const nb::dict &parts) {
    EvolvingState s;
    const auto take = [&]<class T>(const char *name, std::vector<T> &part, std::size_t) {
        nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu> array;
        expect(parts.contains(name) && nb::try_cast(parts[name], array, false),
               std::string("the state has no sound part '") + name + "'");
        part.assign(array.data(), array.data() + array.shape(0));
    };
    each_part(s, self, take);
    each_part(s, self, [&](const char *name, const auto &part, std::size_t size) {
        expect(part.size() == size,
               std::string("the part '") + name + "' of the state has another length than the others say");
    });
    expect(sound(s, self), "the numbers of the state do not fit together");
    self.set_state(s);
}

EvolvingOptions options_of(const nb::dict &given) {
    EvolvingOptions o;
    const auto take = [&](const char *name, auto &option) {
        if (given.contains(name)) option = nb::cast<std::remove_reference_t<decltype(option)>>(given[name]);
    };
    take("alpha", o.alpha), take("window", o.window), take("eta", o.eta), take("max_loss", o.max_loss);
    take("wait", o.wait), take("min_hidden", o.min_hidden), take("max_pseudo", o.max_pseudo);
    take("prior_weight", o.prior_weight), take("means", o.means), take("variances", o.variances);
    take("var_floor", o.var_floor), take("unlabelled", o.unlabelled), take("confidence", o.confidence);
    take("p_min", o.p_min), take("test", o.test), take("simplify", o.simplify), take("smooth_unseen", o.smooth_unseen);
    return o;
}

void check_options(const EvolvingOptions &o, int n_numbers) {
    const auto share = [](double x) { return x >= 0 && x <= 1; };
    expect(o.alpha >= 0 && o.alpha < 1 && o.window >= 0 && !(o.alpha > 0 && o.window > 0),
           "forget by alpha or a window");
    expect(share(o.eta) && share(o.confidence) && share(o.p_min) && share(o.unlabelled),
           "a share lies between 0 and 1");
    expect(o.wait >= 1 && o.max_pseudo >= 1 && o.min_hidden >= 0 && o.max_loss >= 0, "a guard is too low");
    expect(o.prior_weight >= 0 && o.prior_weight < 1e100 && o.var_floor > 0 && o.var_floor < 1e100,
           "the start is below 0");
    expect(o.means.size() == o.variances.size() && (o.means.empty() || int(o.means.size()) == n_numbers),
           "the base needs a mean and a variance for every number");
    for (std::size_t i = 0; i < o.means.size(); ++i)
        expect(std::abs(o.means[i]) < 1e100 && o.variances[i] >= 0 && o.variances[i] < 1e100, "the base is not finite");
}

}  // namespace

void bind_evolving(nb::module_ &m) {
    using nb::arg;
    nb::class_<Evolving>(m, "Evolving", "Classes made of pseudo-classes that come and go with the rows.")
        .def(
            "__init__",
            [](Evolving *self, const std::vector<int> &n_values, int n_numbers, int n_classes,
               const nb::dict &options) {
                const EvolvingOptions o = options_of(options);
                check_options(o, n_numbers);
                expect(n_numbers >= 0 && n_classes >= 0 && n_classes < 65536, "numbers and classes cannot be negative");
                expect(within(n_values, 0, 65535), "a column has less than no values, or too many");
                new (self) Evolving(n_values, n_numbers, n_classes, o);
            },
            arg("n_values"), arg("n_numbers"), arg("n_classes"), arg("options"))
        .def_prop_ro("n_classes", &Evolving::n_classes)
        .def_prop_ro("n_values", &Evolving::n_values)
        .def("learn", &learn, arg("codes"), arg("numbers"), arg("labels"), arg("weights").none() = nb::none(),
             arg("out").none() = nb::none(), arg("answered_codes").none() = nb::none(),
             arg("answered_numbers").none() = nb::none())
        .def("learn_one", &learn_one, arg("codes"), arg("numbers"), arg("label"), arg("weight") = 1.0)
        .def("score", &score, arg("codes"), arg("numbers"), arg("out"), arg("log_joint") = false, arg("n_jobs") = 1)
        .def("one", &one, arg("codes"), arg("numbers"))
        .def(
            "add_classes",
            [](Evolving &self, const std::vector<int> &places, int n_classes) {
                std::vector<char> taken(std::size_t(std::max(0, n_classes)), 0);
                expect(int(places.size()) == self.n_classes() && n_classes < 65536, "every class needs one place");
                for (const int place : places) {
                    expect(place >= 0 && place < n_classes && !taken[std::size_t(place)], "two classes have one place");
                    taken[std::size_t(place)] = 1;
                }
                self.add_classes(places, n_classes);
            },
            arg("places"), arg("n_classes"))
        .def(
            "announce",
            [](Evolving &self, const std::vector<int> &classes) {
                for (const int c : classes) expect(c >= 0 && c < self.n_classes(), "a class has no place yet");
                for (const int c : classes) self.announce(c);
            },
            arg("classes"))
        .def("add_column", &Evolving::add_column)
        .def("add_number", &Evolving::add_number)
        .def(
            "set_costs",
            [](Evolving &self, const std::vector<double> &costs) {
                const std::size_t k = std::size_t(self.n_classes());
                expect(costs.empty() || costs.size() == k * k, "costs need a row and a column per class");
                self.set_costs(costs);
            },
            arg("costs"))
        .def("state", &state)
        .def("set_state", &set_state, arg("state"));
}
