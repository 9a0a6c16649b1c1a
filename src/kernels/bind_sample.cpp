// Samples for Python: columns of codes that searches over networks count from.
#include <algorithm>
#include <cmath>
#include <set>

#include "bind_arrays.hpp"
#include "climb.hpp"
#include "open_network.hpp"

namespace sample_bindings {

namespace {

using namespace tanager;
using namespace arrays;
using Places = std::vector<std::int64_t>;
using Figures = std::tuple<double, double, double, double, double>;  // of an Information

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

ScoreKind checked_kind(const std::string &name, double strength) {
    const ScoreKind kind = kind_named(name);
    if (kind == ScoreKind::bdeu && !(strength > 0.0 && std::isfinite(strength)))
        refuse("the strength of 'bdeu' must be positive and finite.");
    return kind;
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
        codes_ = any_array(codes, "codes");
        const bool bytes = codes_.dtype() == nb::dtype<std::uint8_t>();
        if (!bytes && codes_.dtype() != nb::dtype<std::uint16_t>()) refuse("codes must be uint8 or uint16.");
        check_dimensions(codes_, 2, "codes");
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
        known_ = std::make_unique<RememberedInformation>(*sample_);
    }

    nb::object count(const Places &places, const std::string &method_name) const {
        const SampleMethod method = method_named(method_name);
        Variables variables = checked(places);
        std::vector<std::size_t> shape;
        for (const std::size_t i : variables) shape.push_back(sample_->n_values(i));
        if (sample_->n_cells(variables) > 4e9) refuse("a table of more than 4e9 cells cannot be counted.");
        std::vector<double> cells(static_cast<std::size_t>(sample_->n_cells(variables)), 0.0);
        {
            const Released released;
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

    Figures information(std::int64_t x, std::int64_t z, Places given, const std::string &method_name) {
        const SampleMethod method = method_named(method_name);
        given.push_back(x);
        given.push_back(z);
        Variables variables = checked(given);
        const std::size_t second = variables.back(), first = variables[variables.size() - 2];
        variables.resize(variables.size() - 2);
        if (method != SampleMethod::automatic) {
            const Released released;
            return as_tuple(tanager::information(*sample_, first, second, variables, method));
        }
        const Released released;
        return as_tuple(known_->ask(first, second, variables));
    }

    // The informations alone, of x with each of several others.
    std::vector<double> informations(std::int64_t x, const Places &others, Places given) {
        Places all = others;
        all.insert(all.end(), given.begin(), given.end());
        all.push_back(x);
        const Variables variables = checked(all);
        const auto split = variables.begin() + std::ptrdiff_t(others.size());
        const Variables zs(variables.begin(), split), conditions(split, variables.end() - 1);
        std::vector<double> out;
        const Released released;
        known_->learn_with(variables.back(), zs, conditions, false);
        for (const std::size_t z : zs) out.push_back(known_->ask(variables.back(), z, conditions, false).value);
        return out;
    }

    std::vector<Figures> pairs(const Places &places, const Places &given) {
        Places all = places;
        all.insert(all.end(), given.begin(), given.end());
        const Variables variables = checked(all);
        const Variables conditions(variables.begin() + std::ptrdiff_t(places.size()), variables.end());
        std::vector<Figures> out;
        const Released released;
        known_->learn_pairs({variables.begin(), variables.end() - std::ptrdiff_t(given.size())}, conditions, true);
        for (std::size_t a = 0; a < places.size(); ++a)
            for (std::size_t b = a + 1; b < places.size(); ++b)
                out.push_back(as_tuple(known_->ask(variables[a], variables[b], conditions)));
        return out;
    }

    static Figures as_tuple(const Information &found) {
        return {found.value, found.rows, found.df, found.naive_df, found.pearson};
    }

    RememberedInformation &known() { return *known_; }
    std::int64_t n_asked() const { return known_->n_asked; }
    std::int64_t n_counted() const { return known_->n_counted; }

    nb::object scores(const std::string &kind_name, std::int64_t child, const std::vector<Places> &parents,
                      double strength, const std::string &method_name) const {
        const SampleMethod method = method_named(method_name);
        const ScoreKind kind = checked_kind(kind_name, strength);
        std::vector<Variables> families;
        for (Places own : parents) {
            own.push_back(child);
            families.push_back(checked(own));
            families.back().pop_back();
        }
        const auto of = static_cast<std::size_t>(child);
        std::vector<double> out(families.size());
        if (!families.empty()) {
            const Released released;
            family_scores(*sample_, kind, of, families, strength, method, out.data());
        }
        const std::size_t n = out.size();
        return new_array(std::move(out), {n});
    }

    // The parents of every node of the network that a climb by a score finds, and how many families were scored;
    // around a target, or among all nodes.
    std::pair<std::vector<std::vector<int>>, std::int64_t> climb(
        const std::string &kind_name, double strength, const Places &nodes, const Places &given,
        const std::vector<std::vector<bool>> &allowed, const std::vector<std::pair<int, int>> &required,
        std::optional<std::size_t> max_parents, double rounding, std::optional<int> target, bool all_joined) const {
        const ScoreKind kind = checked_kind(kind_name, strength);
        Places all = nodes;
        all.insert(all.end(), given.begin(), given.end());
        const Variables places = checked(all);
        const auto split = places.begin() + std::ptrdiff_t(nodes.size());
        ClimbTask task{
            {places.begin(), split}, {split, places.end()}, {}, required, max_parents.value_or(nodes.size()), rounding};
        const int n = int(nodes.size());
        expect(allowed.size() == nodes.size(), "one line of allowed arcs per node");
        for (const auto &line : allowed) {
            expect(line.size() == nodes.size(), "one allowed arc per node");
            task.allowed.emplace_back(line.begin(), line.end());
        }
        expect(std::set(required.begin(), required.end()).size() == required.size(), "every arc can be required once");
        for (const auto &[u, v] : required)
            expect(u >= 0 && v >= 0 && u < n && v < n && u != v, "an arc must name two of the nodes");
        expect(!target || (*target >= 0 && *target < n && required.empty()), "a target must be one of the nodes");
        const Released released;
        FamilyScores scores(*sample_, kind, strength);
        Climbed found = target ? climb_around(scores, task, *target, all_joined) : tanager::climb(scores, task);
        return {std::move(found.parents), found.n_scored};
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

  private:
    void read_weights(nb::handle weights, std::size_t n_rows) {
        weights_ = any_array(weights, "weights");
        as_weights(weights_, std::int64_t(n_rows));
        if (n_rows > 1 && weights_.stride(0) != 1) refuse("weights must be contiguous.");
    }

    AnyArray codes_, weights_;
    std::unique_ptr<Sample> sample_;
    std::unique_ptr<RememberedInformation> known_;
};

IndependenceTest::Kind test_named(const std::string &name) {
    if (name == "threshold") return IndependenceTest::Kind::threshold;
    if (name == "g_squared") return IndependenceTest::Kind::g_squared;
    if (name == "pearson") return IndependenceTest::Kind::pearson;
    refuse("a test must be 'threshold', 'g_squared' or 'pearson', not '" + name + "'.");
}

// A graph between some variables of a sample, and the tests that can separate two of them.
class PySeparation {
  public:
    using Found =
        std::tuple<bool, bool, std::vector<int>, Figures>;  // separated, too many conditions, the set, the test

    PySeparation(std::shared_ptr<KeptSample> sample, const Places &nodes, const Places &given,
                 const std::vector<std::vector<bool>> &allowed, const std::string &test, double bound, bool guard,
                 bool naive, std::size_t max_cond)
        : sample_(std::move(sample)),
          own_{BlockGraph(nodes.size()), {test_named(test), bound, guard, naive}, max_cond, {}, {}, {},
               sample_->known()} {
        Places all = nodes;
        all.insert(all.end(), given.begin(), given.end());
        const Variables places = sample_->checked(all);
        own_.nodes.assign(places.begin(), places.begin() + std::ptrdiff_t(nodes.size()));
        own_.given.assign(places.begin() + std::ptrdiff_t(nodes.size()), places.end());
        expect(allowed.size() == nodes.size(), "one line of allowed arcs per node");
        for (const auto &line : allowed) {
            expect(line.size() == nodes.size(), "one allowed arc per node");
            own_.allowed.emplace_back(line.begin(), line.end());
        }
    }
    PySeparation(const PySeparation &) = delete;

    void join(int a, int b) {
        check_pair(a, b);
        const auto &near = own_.graph.neighbours(a);
        expect(std::find(near.begin(), near.end(), b) == near.end(), "these nodes are joined already");
        own_.graph.join(a, b);
    }
    void part(int a, int b) {
        check_pair(a, b);
        const auto &near = own_.graph.neighbours(a);
        expect(std::find(near.begin(), near.end(), b) != near.end(), "these nodes are not joined");
        own_.graph.part(a, b);
    }
    std::vector<int> between(int a, int b) {
        check_pair(a, b);
        const std::vector<char> flags = own_.graph.between(a, b);
        std::vector<int> found;
        for (std::size_t v = 0; v < flags.size(); ++v)
            if (flags[v]) found.push_back(int(v));
        return found;
    }
    // None where no node lies between the two, and `always` is not asked for.
    std::optional<Found> by_neighbours(int a, int b, bool always, bool widely) {
        check_pair(a, b);
        const Released released;
        const std::vector<char> flags = own_.graph.between(a, b);
        if (!always && std::find(flags.begin(), flags.end(), 1) == flags.end()) return std::nullopt;
        Attempt found = widely ? own_.widely(a, b, flags) : own_.by_neighbours(a, b, flags);
        if (!found.tested) found.information = own_.look_up(a, b);
        return Found{found.separated, found.too_many, found.given, KeptSample::as_tuple(found.information)};
    }

    // The parents of every node, and the arcs whose direction is left open.
    std::pair<std::vector<std::vector<int>>, std::vector<NodePair>> learn(const std::vector<NodePair> &required,
                                                                          bool extend_by_order,
                                                                          std::optional<std::size_t> max_parents) {
        for (std::size_t v = 0; v < own_.nodes.size(); ++v)
            expect(own_.graph.neighbours(int(v)).empty(), "a network is learned from a graph without edges");
        for (std::size_t k = 0; k < required.size(); ++k) {
            const auto [u, v] = required[k];
            check_pair(u, v);
            for (std::size_t other = 0; other < k; ++other)
                expect(required[other] != NodePair{u, v} && required[other] != NodePair{v, u},
                       "every pair can be required once");
        }
        const Released released;
        OpenNetwork found = learn_open_network(own_, required, extend_by_order,
                                               max_parents.value_or(std::numeric_limits<std::size_t>::max()));
        return {std::move(found.parents), std::move(found.undirected)};
    }

    std::int64_t n_tests() const { return own_.n_tests; }

  private:
    void check_pair(int a, int b) const {
        const int n = int(own_.nodes.size());
        expect(a >= 0 && b >= 0 && a < n && b < n && a != b, "a pair must name two of the nodes");
    }

    std::shared_ptr<KeptSample> sample_;
    Separation own_;
};

}  // namespace
}  // namespace sample_bindings

void bind_sample(nb::module_ &m) {
    using namespace sample_bindings;
    using nb::arg;
    nb::class_<KeptSample>(m, "Sample", "Rows in which any set of variables can be counted.")
        .def(nb::init<nb::handle, const Places &, nb::handle>(), arg("codes"), arg("n_values"), arg("weights").none())
        .def("count", &KeptSample::count, arg("variables"), arg("method") = "auto",
             "How often the values of the variables occurred together, one axis each.")
        .def("information", &KeptSample::information, arg("x"), arg("z"), arg("given"), arg("method") = "auto",
             "I(X; Z | given), M, degrees of freedom without and with structural zeros, Pearson's X^2.")
        .def("informations", &KeptSample::informations, arg("x"), arg("others"), arg("given"),
             "I(X; Z | given) of X with each of several others.")
        .def("pairs", &KeptSample::pairs, arg("variables"), arg("given"), "The information of every two variables.")
        .def_prop_ro("n_asked", &KeptSample::n_asked)
        .def_prop_ro("n_counted", &KeptSample::n_counted)
        .def("scores", &KeptSample::scores, arg("kind"), arg("child"), arg("parents"), arg("strength") = 1.0,
             arg("method") = "auto", "The scores of one child with each of several sets of parents.")
        .def("climb", &KeptSample::climb, arg("kind"), arg("strength"), arg("nodes"), arg("given"), arg("allowed"),
             arg("required"), arg("max_parents").none(), arg("rounding"), arg("target").none(), arg("all_joined"),
             "The parents of a network that a greedy search by a score finds, and how many families were scored.");
    nb::class_<PySeparation>(m, "Separation", "A graph between variables of a sample, and tests that separate pairs.")
        .def(nb::init<std::shared_ptr<KeptSample>, const Places &, const Places &,
                      const std::vector<std::vector<bool>> &, const std::string &, double, bool, bool, std::size_t>(),
             arg("sample"), arg("nodes"), arg("given"), arg("allowed"), arg("test"), arg("bound"), arg("guard"),
             arg("naive"), arg("max_cond"))
        .def("join", &PySeparation::join, arg("a"), arg("b"))
        .def("part", &PySeparation::part, arg("a"), arg("b"))
        .def("between", &PySeparation::between, arg("a"), arg("b"))
        .def("by_neighbours", &PySeparation::by_neighbours, arg("a"), arg("b"), arg("always"), arg("widely"))
        .def("learn", &PySeparation::learn, arg("required"), arg("extend_by_order"), arg("max_parents").none())
        .def_prop_ro("n_tests", &PySeparation::n_tests);
}
