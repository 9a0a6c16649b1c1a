// Python's door to samples. The kernels trust their input, so every shape, type and range is checked here.
#include <algorithm>
#include <cmath>

#include "bindings.hpp"
#include "sample_measures.hpp"

namespace {

using namespace tanager;
using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;
using Places = std::vector<std::int64_t>;

[[noreturn]] void refuse(const std::string &sentence) { throw nb::value_error(sentence.c_str()); }

SampleMethod method_named(const std::string &name) {
    if (name == "auto") return SampleMethod::automatic;
    if (name == "bits") return SampleMethod::bits;
    if (name == "increments") return SampleMethod::increments;
    if (name == "hash") return SampleMethod::hash;
    refuse("method must be 'auto', 'bits', 'increments' or 'hash', not '" + name + "'.");
}

ScoreKind kind_named(const std::string &name) {
    if (name == "ll") return ScoreKind::ll;
    if (name == "aic") return ScoreKind::aic;
    if (name == "bic") return ScoreKind::bic;
    if (name == "k2") return ScoreKind::k2;
    if (name == "bdeu") return ScoreKind::bdeu;
    refuse("kind must be 'll', 'aic', 'bic', 'k2' or 'bdeu', not '" + name + "'.");
}

nb::object new_array(std::vector<double> values, const std::vector<std::size_t> &shape) {
    auto *kept = new std::vector<double>(std::move(values));
    nb::capsule owner(kept, [](void *data) noexcept { delete static_cast<std::vector<double> *>(data); });
    return nb::cast(nb::ndarray<nb::numpy, double>(kept->data(), shape.size(), shape.data(), owner));
}

// The kernel's sample, and the arrays it reads from.
class KeptSample {
  public:
    KeptSample(nb::handle codes, const Places &n_values, nb::handle weights) {
        if (!nb::try_cast(codes, codes_, false)) refuse("codes must be a NumPy array.");
        const bool bytes = codes_.dtype() == nb::dtype<std::uint8_t>();
        if (!bytes && codes_.dtype() != nb::dtype<std::uint16_t>()) refuse("codes must be uint8 or uint16.");
        if (codes_.ndim() != 2) refuse("codes must have 2 dimensions, it has " + std::to_string(codes_.ndim()) + ".");
        const std::size_t n_rows = codes_.shape(0), n = codes_.shape(1);
        if (n_rows >= std::size_t{1} << 32) refuse("codes must have fewer than 2**32 rows.");
        if ((n_rows > 1 && codes_.stride(0) != 1) ||
            (n > 1 && n_rows > 0 && codes_.stride(1) != static_cast<std::int64_t>(n_rows)))
            refuse("codes must be Fortran-contiguous: column after column.");
        if (n_values.size() != n)
            refuse("codes has " + std::to_string(n) + " columns, n_values has " + std::to_string(n_values.size()) +
                   " entries.");
        const std::int64_t most = bytes ? 255 : 65535;
        for (const std::int64_t a : n_values)
            if (a < 0 || a > most)
                refuse("n_values must lie in 0 .. " + std::to_string(most) + " for this type of codes.");
        if (!weights.is_none()) read_weights(weights, n_rows);
        sample_ = std::make_unique<Sample>(static_cast<const std::byte *>(codes_.data()), bytes ? 1 : 2, n_rows,
                                           std::vector<std::size_t>(n_values.begin(), n_values.end()),
                                           weights.is_none() ? nullptr : static_cast<const double *>(weights_.data()));
    }

    nb::object count(const Places &places, const std::string &method_name) const {
        const SampleMethod method = method_named(method_name);
        Variables variables = checked(places);
        std::vector<std::size_t> shape;
        for (const std::size_t i : variables) shape.push_back(sample_->n_values(i));
        if (sample_->n_cells(variables) > 4e9) refuse("a table of more than 4e9 cells cannot be counted.");
        std::vector<double> cells(static_cast<std::size_t>(sample_->n_cells(variables)), 0.0);
        {
            nb::gil_scoped_release released;
            if (variables.empty()) {
                for (std::size_t r = 0; r < sample_->n_rows(); ++r) cells[0] += sample_->weight(r);
            } else {
                const Variables last{variables.back()};
                variables.pop_back();
                sample_->extend(variables, last, {cells.data()}, method);
            }
        }
        return new_array(std::move(cells), shape);
    }

    std::tuple<double, double, double, double, double> information(std::int64_t x, std::int64_t z, Places given,
                                                                   const std::string &method_name) const {
        const SampleMethod method = method_named(method_name);
        given.push_back(x);
        given.push_back(z);
        Variables variables = checked(given);
        const std::size_t second = variables.back(), first = variables[variables.size() - 2];
        variables.resize(variables.size() - 2);
        Information found;
        {
            nb::gil_scoped_release released;
            found = tanager::information(*sample_, first, second, variables, method);
        }
        return {found.value, found.rows, found.df, found.naive_df, found.pearson};
    }

    nb::object scores(const std::string &kind_name, std::int64_t child, const std::vector<Places> &parents,
                      double strength, const std::string &method_name) const {
        const SampleMethod method = method_named(method_name);
        const ScoreKind kind = kind_named(kind_name);
        if (kind == ScoreKind::bdeu && !(strength > 0.0 && std::isfinite(strength)))
            refuse("the strength of 'bdeu' must be positive and finite.");
        std::vector<Variables> families;
        for (Places own : parents) {
            own.push_back(child);
            families.push_back(checked(own));
            families.back().pop_back();
        }
        const auto of = static_cast<std::size_t>(child);
        std::vector<double> out(families.size());
        if (!families.empty()) {
            nb::gil_scoped_release released;
            family_scores(*sample_, kind, of, families, strength, method, out.data());
        }
        const std::size_t n = out.size();
        return new_array(std::move(out), {n});
    }

  private:
    void read_weights(nb::handle weights, std::size_t n_rows) {
        if (!nb::try_cast(weights, weights_, false)) refuse("weights must be a NumPy array.");
        if (weights_.dtype() != nb::dtype<double>()) refuse("weights must be float64.");
        if (weights_.ndim() != 1 || weights_.shape(0) != n_rows)
            refuse("weights must have one entry for each of the " + std::to_string(n_rows) + " rows.");
        if (n_rows > 1 && weights_.stride(0) != 1) refuse("weights must be contiguous.");
    }

    Variables checked(const Places &places) const {
        Variables variables;
        for (const std::int64_t i : places) {
            if (i < 0 || static_cast<std::size_t>(i) >= sample_->n_variables())
                refuse("variable " + std::to_string(i) + " does not exist, they run from 0 to " +
                       std::to_string(sample_->n_variables()) + " - 1.");
            if (std::find(variables.begin(), variables.end(), static_cast<std::size_t>(i)) != variables.end())
                refuse("variable " + std::to_string(i) + " is named twice.");
            variables.push_back(static_cast<std::size_t>(i));
        }
        return variables;
    }

    AnyArray codes_, weights_;
    std::unique_ptr<Sample> sample_;
};

}  // namespace

void bind_sample(nb::module_ &m) {
    using nb::arg;
    nb::class_<KeptSample>(m, "Sample", "Rows in which any set of variables can be counted.")
        .def(nb::init<nb::handle, const Places &, nb::handle>(), arg("codes"), arg("n_values"), arg("weights").none())
        .def("count", &KeptSample::count, arg("variables"), arg("method") = "auto",
             "How often the values of the variables occurred together, one axis each.")
        .def("information", &KeptSample::information, arg("x"), arg("z"), arg("given"), arg("method") = "auto",
             "I(X; Z | given), M, degrees of freedom without and with structural zeros, Pearson's X^2.")
        .def("scores", &KeptSample::scores, arg("kind"), arg("child"), arg("parents"), arg("strength") = 1.0,
             arg("method") = "auto", "The scores of one child with each of several sets of parents.");
}
