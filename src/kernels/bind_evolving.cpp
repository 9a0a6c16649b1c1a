// Evolving naive Bayes for Python.
#include <cmath>

#include "bind_arrays.hpp"
#include "evolving_rows.hpp"

namespace evolving_bindings {
using namespace arrays;
using tanager::Evolving;
using tanager::EvolvingOptions;
using tanager::EvolvingRows;
using tanager::EvolvingState;

namespace {

using Numbers = nb::ndarray<const double, nb::ndim<2>, nb::device::cpu>;
using OneRow = nb::ndarray<const double, nb::ndim<1>, nb::device::cpu>;

EvolvingRows as_rows(const Evolving &model, const AnyArray &codes_, const Numbers &numbers) {
    const Codes codes = as_codes(codes_, model.n_columns());
    expect(std::int64_t(numbers.shape(0)) == codes.n_rows, "codes and numbers must have the same rows");
    expect(std::int64_t(numbers.shape(1)) == model.n_numbers(), "the numbers have other columns than the model");
    constexpr std::ptrdiff_t size = sizeof(double);
    return {codes, reinterpret_cast<const std::byte *>(numbers.data()), numbers.stride(0) * size,
            numbers.stride(1) * size, model};
}

EvolvingRows as_rows(const Evolving &model, const AnyArray &codes, const OneRow &numbers) {
    expect(std::int64_t(numbers.shape(0)) == model.n_numbers(), "a row has one number per column");
    return {as_row(codes, model.n_columns()), reinterpret_cast<const std::byte *>(numbers.data()), 0,
            std::ptrdiff_t(numbers.stride(0) * sizeof(double)), model};
}

void learn(Evolving &self, const AnyArray &codes, const Numbers &numbers, const AnyArray &labels_,
           const std::optional<WeightArray> &weights_, const std::optional<Doubles> &out_,
           const std::optional<AnyArray> &answered_codes, const std::optional<Numbers> &answered_numbers) {
    EvolvingRows rows = as_rows(self, codes, numbers);
    const std::int64_t m = rows.n_rows();
    const Codes labels = as_labels(labels_, m);
    const Weights weights = as_weights(weights_, m);
    const int k = self.n_classes();
    for (std::int64_t r = 0; r < m; ++r) expect(weights[r] >= 0 && weights[r] <= 1e100, "a weight is out of bounds");
    for (std::int64_t r = 0; r < m; ++r)
        expect(labels.at(r) < k || labels.at(r) == labels.marker(), "a label is none of the classes");
    expect(k > 0 || m == 0, "there are no classes yet");
    double *out = out_ ? as_output(*out_, m, k) : nullptr;
    std::optional<EvolvingRows> answered;
    expect(bool(answered_codes) == bool(answered_numbers), "answered rows need codes and numbers");
    if (answered_codes) {
        answered = as_rows(self, *answered_codes, *answered_numbers);
        expect(answered->n_rows() == m, "there must be one answered row per row");
    }
    nb::gil_scoped_release release;
    learn_rows(self, rows, labels, weights, answered, out);
}

void learn_given(Evolving &self, const AnyArray &codes, const Numbers &numbers, const AnyArray &labels_,
                 const nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> &pseudo,
                 const std::vector<int> &n_pseudo, const std::optional<WeightArray> &weights_) {
    EvolvingRows rows = as_rows(self, codes, numbers);
    const std::int64_t m = rows.n_rows();
    const Codes labels = as_labels(labels_, m);
    const Weights weights = as_weights(weights_, m);
    expect(std::int64_t(pseudo.shape(0)) == m, "every row needs a pseudo-class");
    expect(int(n_pseudo.size()) == self.n_classes() && self.has_no_rows(),
           "pseudo-classes are given before any row, with a number for every class");
    for (const int n : n_pseudo) expect(n >= 0 && n < 65536, "a class has less than no pseudo-classes, or too many");
    for (std::int64_t r = 0; r < m; ++r) {
        expect(weights[r] >= 0 && weights[r] <= 1e100, "a weight is out of bounds");
        const int label = labels.at(r);
        expect(label < self.n_classes() || label == labels.marker(), "a label is none of the classes");
        if (label == labels.marker() || weights[r] == 0) continue;  // it is not learned
        expect(pseudo(r) >= 0 && pseudo(r) < n_pseudo[std::size_t(label)], "a pseudo-class is none of its class");
    }
    nb::gil_scoped_release release;
    learn_given_rows(self, rows, labels, pseudo.data(), n_pseudo, weights);
}

void learn_one(Evolving &self, const AnyArray &codes, const OneRow &numbers, int label, double weight) {
    EvolvingRows rows = as_rows(self, codes, numbers);
    expect(label >= -1 && label < self.n_classes(), "a label is none of the classes");
    expect(weight >= 0 && weight <= 1e100, "a weight is out of bounds");
    expect(self.n_classes() > 0, "there are no classes yet");
    self.reserve_values(rows.n_values());
    Evolving::Scores scores;
    const Evolving::Row row = rows.at(0);
    self.answer(row, scores);
    self.learn(row, label, weight, scores);
}

void score(const Evolving &self, const AnyArray &codes, const Numbers &numbers, const Doubles &out_, bool log_joint,
           int n_jobs) {
    const EvolvingRows rows = as_rows(self, codes, numbers);
    double *out = as_output(out_, rows.n_rows(), self.n_classes());
    const Released release;
    score_rows(self, rows, log_joint, n_jobs, out);
}

std::vector<double> one(const Evolving &self, const AnyArray &codes, const OneRow &numbers) {
    EvolvingRows rows = as_rows(self, codes, numbers);
    Evolving::Scores scores;
    self.answer(rows.at(0), scores);
    return scores.classes;
}

// --- state ---------------------------------------------------------------------------------------------------------

nb::dict state(const Evolving &self) {
    EvolvingState s = self.state();
    nb::dict out;
    each_part(s, self.n_numbers(), self.n_columns(), [&]<class T>(const char *name, std::vector<T> &part, std::size_t) {
        auto *kept = new std::vector<T>(std::move(part));
        nb::capsule owner(kept, [](void *data) noexcept { delete static_cast<std::vector<T> *>(data); });
        out[name] = nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
    });
    return out;
}

void set_state(Evolving &self, const nb::dict &parts) {
    EvolvingState s;
    const auto take = [&]<class T>(const char *name, std::vector<T> &part, std::size_t) {
        nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu> array;
        if (!parts.contains(name) && tanager::may_be_absent(name)) return;
        if (!parts.contains(name) || !nb::try_cast(parts[name], array, false))
            refuse(std::string("the state has no sound part '") + name + "'");
        part.assign(array.data(), array.data() + array.shape(0));
    };
    each_part(s, self.n_numbers(), self.n_columns(), take);
    each_part(s, self.n_numbers(), self.n_columns(), [&](const char *name, const auto &part, std::size_t size) {
        if (part.size() != size)
            refuse(std::string("the part '") + name + "' of the state has another length than the others say");
    });
    expect(is_sound(s, self.options().window), "the numbers of the state do not fit together");
    self.set_state(s);
}

EvolvingOptions options_of(const nb::dict &given) {
    EvolvingOptions o;
    const auto take = [&](const char *name, auto &option) {
        if (given.contains(name)) option = nb::cast<std::remove_reference_t<decltype(option)>>(given[name]);
    };
    take("constant_step", o.constant_step), take("density", o.density), take("minimum", o.minimum);
    take("alpha", o.alpha), take("window", o.window), take("eta", o.eta), take("max_loss", o.max_loss);
    take("wait", o.wait), take("min_hidden", o.min_hidden), take("max_pseudo", o.max_pseudo);
    take("ddof", o.ddof), take("prior_weight", o.prior_weight), take("means", o.means), take("variances", o.variances);
    take("var_floor", o.var_floor), take("unlabelled", o.unlabelled), take("confidence", o.confidence);
    take("p_min", o.p_min), take("test", o.test), take("simplify", o.simplify), take("smooth_unseen", o.smooth_unseen);
    return o;
}

bool is_density(int density) { return density >= 0 && density <= int(tanager::Density::exponential); }

void check_options(const EvolvingOptions &o, int n_numbers) {
    const auto share = [](double x) { return x >= 0 && x <= 1; };
    expect(o.alpha >= 0 && o.alpha < 1 && o.window >= 0 && !(o.alpha > 0 && o.window > 0),
           "forget by alpha or a window");
    expect(share(o.eta) && share(o.confidence) && share(o.p_min) && share(o.unlabelled),
           "a share lies between 0 and 1");
    expect(!o.constant_step || o.alpha > 0, "a constant step is alpha");
    expect(o.density.empty() || int(o.density.size()) == n_numbers, "every number needs a density");
    for (const int density : o.density) expect(is_density(density), "there is no such density");
    expect(o.ddof == 0 || o.ddof == 1, "ddof is 0 or 1");
    expect(o.wait >= 1 && o.max_pseudo >= 1 && o.min_hidden >= 0 && o.max_loss >= 0, "a guard is too low");
    expect(o.prior_weight >= 0 && o.prior_weight < 1e100 && o.var_floor > 0 && o.var_floor < 1e100,
           "the start is below 0");
    expect(o.means.size() == o.variances.size() && (o.means.empty() || int(o.means.size()) == n_numbers),
           "the base needs a mean and a variance for every number");
    for (std::size_t i = 0; i < o.means.size(); ++i)
        expect(std::abs(o.means[i]) < 1e100 && o.variances[i] >= 0 && o.variances[i] < 1e100, "the base is not finite");
}

}  // namespace
}  // namespace evolving_bindings

void bind_evolving(nb::module_ &m) {
    using namespace evolving_bindings;
    using nb::arg;
    nb::class_<Evolving>(m, "Evolving", "Classes made of pseudo-classes that come and go with the rows.")
        .def(
            "__init__",
            [](Evolving *self, const std::vector<int> &n_values, int n_numbers, int n_classes,
               const nb::dict &options) {
                const EvolvingOptions o = options_of(options);
                check_options(o, n_numbers);
                expect(n_numbers >= 0 && n_classes >= 0 && n_classes < 65536, "numbers and classes cannot be negative");
                for (const int values : n_values)
                    expect(values >= 0 && values < 65536, "a column has less than no values, or too many");
                new (self) Evolving(n_values, n_numbers, n_classes, o);
            },
            arg("n_values"), arg("n_numbers"), arg("n_classes"), arg("options"))
        .def_prop_ro("n_classes", &Evolving::n_classes)
        .def_prop_ro("n_values", &Evolving::n_values)
        .def("learn", &learn, arg("codes"), arg("numbers"), arg("labels"), arg("weights").none() = nb::none(),
             arg("out").noconvert().none() = nb::none(), arg("answered_codes").none() = nb::none(),
             arg("answered_numbers").none() = nb::none())
        .def("learn_given", &learn_given, arg("codes"), arg("numbers"), arg("labels"), arg("pseudo"), arg("n_pseudo"),
             arg("weights").none() = nb::none())
        .def("learn_one", &learn_one, arg("codes"), arg("numbers"), arg("label"), arg("weight") = 1.0)
        .def("score", &score, arg("codes"), arg("numbers"), arg("out").noconvert(), arg("log_joint") = false,
             arg("n_jobs") = 1)
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
        .def(
            "add_number",
            [](Evolving &self, int density) {
                expect(is_density(density), "there is no such density");
                self.add_number(tanager::Density(density));
            },
            arg("density") = 0)
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
