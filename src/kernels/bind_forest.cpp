// The forest of k-dependence networks, for Python.
#include <algorithm>
#include <cmath>

#include "bind_arrays.hpp"
#include "factor_loss.hpp"
#include "forest.hpp"

namespace forest_bindings {
using namespace tanager;
using namespace arrays;

namespace {

using forest::Bounds;
using forest::Family;
using forest::Plan;
using forest::Rows;
using forest::Table;

using Slots = nb::ndarray<const std::uint16_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Labels = nb::ndarray<const std::uint16_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Singles = nb::ndarray<const float, nb::c_contig, nb::device::cpu>;
using SinglesOut = nb::ndarray<float, nb::c_contig, nb::device::cpu>;
using StepsOut = nb::ndarray<std::int8_t, nb::ndim<4>, nb::c_contig, nb::device::cpu>;
using Steps = nb::ndarray<const std::int8_t, nb::ndim<4>, nb::c_contig, nb::device::cpu>;
using DoublesIn = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using GroupTable = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using IntTable = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

constexpr std::int64_t most_cells = std::int64_t(1) << 30;

Plan read_plan(const std::vector<std::int64_t> &n_slots, const GroupTable &groups, const IntTable &families) {
    Plan plan;
    plan.n_columns = int(n_slots.size());
    plan.n_members = int(groups.shape(0));
    expect(n_slots.size() < 65536 && groups.shape(0) < 65536, "there are too many columns or members");
    plan.starts.push_back(0);
    for (const std::int64_t n : n_slots) {
        expect(n > 0 && n <= 65536, "every column must have a slot, and not more than 65536");
        plan.starts.push_back(plan.starts.back() + n);
    }
    expect(std::int64_t(groups.shape(1)) == plan.starts.back(), "there must be one group for every slot");
    plan.groups.assign(groups.data(), groups.data() + groups.size());
    std::vector<int> n_groups(std::size_t(plan.n_members) * n_slots.size(), 0);
    for (int e = 0; e < plan.n_members; ++e)
        for (int i = 0; i < plan.n_columns; ++i)
            for (std::int64_t v = 0; v < n_slots[std::size_t(i)]; ++v)
                n_groups[std::size_t(e * plan.n_columns + i)] =
                    std::max(n_groups[std::size_t(e * plan.n_columns + i)], plan.groups_of(e, i)[v] + 1);
    const std::size_t width = families.shape(1);
    expect(width >= 2 && width <= 2 + forest::most_parents, "a family is a member, a column and up to 16 parents");
    for (std::size_t f = 0; f < families.shape(0); ++f) {
        const std::int32_t *line = families.data() + f * width;
        Family family;
        family.member = line[0];
        family.child = line[1];
        expect(family.member >= 0 && family.member < plan.n_members, "a family has no such member");
        expect(family.child >= 0 && family.child < plan.n_columns, "a family has no such column");
        const int *own = n_groups.data() + family.member * plan.n_columns;
        family.n_groups = own[family.child];
        std::int64_t cells = family.n_groups;
        for (std::size_t p = 2; p < width && line[p] >= 0; ++p) {
            expect(line[p] < plan.n_columns, "a family has no such parent");
            family.parents[family.n_parents] = line[p];
            family.radix[family.n_parents++] = own[line[p]];
            family.n_contexts *= own[line[p]];
            cells *= own[line[p]];
            expect(cells < most_cells, "a family has more cells than can be numbered");
        }
        expect(f == 0 || family.member >= plan.families.back().member, "families of a member must follow each other");
        plan.families.push_back(family);
    }
    return plan;
}

Rows read_rows(const Plan &plan, const Slots &slots, int n_classes) {
    expect(int(slots.shape(0)) == plan.n_columns, "slots must have one line for every column");
    expect(n_classes > 0 && n_classes < 65536, "there must be classes");
    Rows rows;
    rows.slots = slots.data();
    rows.n_rows = std::int64_t(slots.shape(1));
    rows.n_classes = n_classes;
    for (int i = 0; i < plan.n_columns; ++i) {
        const std::int64_t n = plan.starts[std::size_t(i) + 1] - plan.starts[std::size_t(i)];
        const std::uint16_t *own = rows.slots + i * rows.n_rows;
        std::uint16_t top = 0;
        for (std::int64_t r = 0; r < rows.n_rows; ++r) top = std::max(top, own[r]);
        expect(rows.n_rows == 0 || top < n, "a row has a slot that its column has not");
    }
    return rows;
}

Rows read_labelled(const Plan &plan, const Slots &slots, const Labels &labels, const std::optional<Singles> &weights,
                   int n_classes) {
    Rows rows = read_rows(plan, slots, n_classes);
    expect(std::int64_t(labels.shape(0)) == rows.n_rows, "every row must have a label");
    for (std::int64_t r = 0; r < rows.n_rows; ++r)
        expect(labels.data()[r] < n_classes, "a label is none of the classes");
    rows.labels = labels.data();
    if (weights) {
        expect(weights->ndim() == 1 && std::int64_t(weights->shape(0)) == rows.n_rows, "every row must have a weight");
        for (std::int64_t r = 0; r < rows.n_rows; ++r)
            expect(weights->data()[r] >= 0 && std::isfinite(weights->data()[r]), "weights must be at least 0");
        rows.weights = weights->data();
    }
    return rows;
}

void check_jobs(int n_jobs) { expect(n_jobs >= 1 && n_jobs <= 1024, "n_jobs must lie in 1 .. 1024"); }

// Where the cells of each family begin where every context has a line of its own; the last is their number.
std::vector<std::int64_t> starts_of_tables(const Plan &plan, int n_classes) {
    expect(n_classes > 0 && n_classes < 65536, "there must be classes");
    std::vector<std::int64_t> starts{0};
    for (const Family &family : plan.families)
        starts.push_back(starts.back() + family.n_contexts * family.n_groups * n_classes);
    return starts;
}

// What every family says in each of its cells: for rows to answer, or as one array.
class ForestTables {
  public:
    ForestTables(std::shared_ptr<const Plan> plan, int n_classes, std::vector<Table> tables)
        : plan_(std::move(plan)), n_classes_(n_classes), tables_(std::move(tables)) {}
    ForestTables(ForestTables &&) = default;  // tables are not copied

    void score(const Slots &slots, const Doubles &out, std::optional<int> child, int n_jobs) const {
        const Rows queries = read_rows(*plan_, slots, n_classes_);
        double *to = as_output(out, queries.n_rows, n_classes_);
        check_jobs(n_jobs);
        const Released release;
        forest::add_tables(*plan_, queries, tables_, child.value_or(forest::every_child), n_jobs, to);
    }

    // The posterior of one row of codes; a code that is no slot of its column is missing.
    std::vector<double> one(const AnyArray &codes, const DoublesIn &prior) const {
        const Codes row = as_row(codes, plan_->n_columns);
        expect(int(prior.shape(0)) == n_classes_, "every class must have a log that is added");
        std::vector<std::uint16_t> slots(std::size_t(plan_->n_columns));
        for (std::size_t i = 0; i < slots.size(); ++i) {
            const std::int64_t missing = plan_->starts[i + 1] - plan_->starts[i] - 1;
            slots[i] = std::uint16_t(std::min<std::int64_t>(row.at(0, std::int64_t(i)), missing));
        }
        std::vector<float> sums(std::size_t(n_classes_), 0.0f);
        forest::add_tables_of_row(*plan_, slots.data(), tables_, n_classes_, sums.data());
        std::vector<double> answer(sums.begin(), sums.end());
        for (std::size_t y = 0; y < answer.size(); ++y) answer[y] += prior.data()[y];
        const double most = *std::max_element(answer.begin(), answer.end());
        double total = 0;
        for (double &p : answer) total += p = std::exp(p - most);
        for (double &p : answer) p /= total;
        return answer;
    }

    nb::ndarray<nb::numpy, float, nb::ndim<1>> cells() const {
        const std::int64_t n = starts_of_tables(*plan_, n_classes_).back();
        auto all = std::make_unique_for_overwrite<float[]>(std::size_t(n));
        float *to = all.get();
        for (std::size_t f = 0; f < tables_.size(); ++f) {
            const Family &family = plan_->families[f];
            const std::int64_t line = std::int64_t(family.n_groups) * n_classes_;
            for (std::int64_t u = 0; u < family.n_contexts; ++u, to += line) {
                const std::int64_t own = tables_[f].lines.empty() ? u : tables_[f].lines[std::size_t(u)];
                std::copy_n(tables_[f].cells.get() + own * line, line, to);
            }
        }
        float *own = all.release();
        const nb::capsule owner(own, [](void *p) noexcept { delete[] static_cast<float *>(p); });
        return {own, {std::size_t(n)}, owner};
    }

    std::int64_t n_bytes() const {
        std::int64_t n = 0;
        for (std::size_t f = 0; f < tables_.size(); ++f)
            n += 4 * (tables_[f].n_lines * plan_->families[f].n_groups * n_classes_ +
                      std::int64_t(tables_[f].lines.size()));
        return n;
    }

  private:
    std::shared_ptr<const Plan> plan_;
    int n_classes_;
    std::vector<Table> tables_;
};

class Forest {
  public:
    Forest(const std::vector<std::int64_t> &n_slots, const GroupTable &groups, const IntTable &families, float clip,
           float weakest, float strongest)
        : plan_(std::make_shared<const Plan>(read_plan(n_slots, groups, families))), bounds_{clip, weakest, strongest} {
        expect(clip > 0 && std::isfinite(clip), "clip must be above 0");
        expect(weakest > 0 && strongest > weakest && std::isfinite(strongest), "strengths must lie in a range above 0");
    }

    void learn(const Slots &slots, const Labels &labels, const Singles &weights, std::int64_t half, std::int64_t few,
               std::int64_t judged, int n_classes, const SinglesOut &strengths, const StepsOut &first_terms,
               const StepsOut &second_terms, int n_jobs) const {
        const Rows rows = read_labelled(*plan_, slots, labels, weights, n_classes);
        expect(n_classes >= 2, "there must be two classes or more");
        expect(half >= 0 && half <= rows.n_rows, "the first half has more rows than there are");
        expect(few >= 0 && judged >= 0, "numbers of rows must be at least 0");
        check_strengths(strengths.ndim() == 2 ? strengths.shape(0) : 0, strengths.ndim() == 2 ? strengths.shape(1) : 0);
        forest::Halves halves;
        halves.half = half;
        const StepsOut *const outs[2] = {&first_terms, &second_terms};
        for (int h = 0; h < 2; ++h) {
            const std::int64_t own = h ? rows.n_rows - half : half;
            halves.few[h] = std::min(own, few);
            halves.judged[h] = std::min(own, judged);
            const StepsOut &out = *outs[h];
            expect(std::int64_t(out.shape(0)) == FactorTerms::blocks(halves.judged[h]) &&
                       out.shape(1) == plan_->families.size() && int(out.shape(2)) == FactorTerms::sides(n_classes) &&
                       int(out.shape(3)) == FactorTerms::block,
                   "terms must be (blocks of 64 rows, families, classes (or one of two), 64)");
        }
        check_jobs(n_jobs);
        std::int8_t *const terms[2] = {first_terms.data(), second_terms.data()};
        const Released release;
        forest::learn_families(*plan_, rows, halves, bounds_, n_jobs, strengths.data(), terms);
    }

    void left_out(const Slots &slots, const Labels &labels, const std::optional<Singles> &weights,
                  const Slots &judged_slots, const Labels &judged_labels, const std::optional<Singles> &judged_weights,
                  int n_classes, const Singles &strengths, const Singles &factors, const Doubles &out,
                  int n_jobs) const {
        const Rows rows = read_labelled(*plan_, slots, labels, weights, n_classes);
        const Rows judged = read_labelled(*plan_, judged_slots, judged_labels, judged_weights, n_classes);
        read_strengths(strengths);
        read_factors(factors);
        double *to = as_output(out, judged.n_rows, n_classes);
        check_jobs(n_jobs);
        const Released release;
        forest::left_out_sums(*plan_, rows, judged, strengths.data(), factors.data(), bounds_, n_jobs, to);
    }

    ForestTables tables(const Slots &slots, const Labels &labels, const std::optional<Singles> &weights, int n_classes,
                        const Singles &strengths, const Singles &factors, int n_jobs) const {
        const Rows rows = read_labelled(*plan_, slots, labels, weights, n_classes);
        read_strengths(strengths);
        read_factors(factors);
        check_jobs(n_jobs);
        const Released release;
        return {plan_, n_classes, forest::make_tables(*plan_, rows, strengths.data(), factors.data(), bounds_, n_jobs)};
    }

    ForestTables tables_of(const Singles &cells, int n_classes) const {
        const std::vector<std::int64_t> starts = table_starts(n_classes);
        expect(cells.ndim() == 1 && std::int64_t(cells.shape(0)) == starts.back(), "the tables are not this forest's");
        std::vector<Table> tables(plan_->families.size());
        for (std::size_t f = 0; f < tables.size(); ++f) {
            const std::size_t n = std::size_t(starts[f + 1] - starts[f]);
            tables[f].n_lines = plan_->families[f].n_contexts;
            tables[f].cells = std::make_unique_for_overwrite<float[]>(n);
            std::copy_n(cells.data() + starts[f], n, tables[f].cells.get());
        }
        return {plan_, n_classes, std::move(tables)};
    }

    std::vector<std::int64_t> table_starts(int n_classes) const { return starts_of_tables(*plan_, n_classes); }

  private:
    void check_strengths(std::size_t families, std::size_t levels) const {
        expect(families == plan_->families.size() && levels == forest::most_parents + 1,
               "strengths must be (families, 17)");
    }
    void read_strengths(const Singles &strengths) const {
        check_strengths(strengths.ndim() == 2 ? strengths.shape(0) : 0, strengths.ndim() == 2 ? strengths.shape(1) : 0);
        for (std::size_t i = 0; i < strengths.size(); ++i)
            expect(strengths.data()[i] > 0 && std::isfinite(strengths.data()[i]), "strengths must be above 0");
    }
    void read_factors(const Singles &factors) const {
        expect(factors.ndim() == 1 && factors.shape(0) == plan_->families.size(), "every family must have a weight");
        for (std::size_t i = 0; i < factors.size(); ++i)
            expect(std::isfinite(factors.data()[i]), "weights of families must be finite");
    }

    std::shared_ptr<const Plan> plan_;
    Bounds bounds_;
};

double loss_of_factors(const Steps &steps, int n_classes, float unit, const Labels &labels, const Singles &weights,
                       const DoublesIn &factors, const DoublesIn &fixed, const std::optional<Doubles> &slopes,
                       const std::optional<Doubles> &losses) {
    expect(n_classes >= 2 && n_classes < 65536, "there must be two classes or more");
    expect(unit > 0 && std::isfinite(unit), "the unit must be above 0");
    const std::int64_t n_rows = std::int64_t(labels.shape(0)), n_factors = std::int64_t(steps.shape(1));
    expect(std::int64_t(steps.shape(0)) == FactorTerms::blocks(n_rows) &&
               int(steps.shape(2)) == FactorTerms::sides(n_classes) && int(steps.shape(3)) == FactorTerms::block,
           "terms must be (blocks of 64 rows, factors, classes (or one of two), 64)");
    expect(weights.ndim() == 1 && std::int64_t(weights.shape(0)) == n_rows, "every row must have a weight");
    expect(std::int64_t(factors.shape(0)) == n_factors, "every factor must have a weight");
    expect(std::int64_t(fixed.shape(0)) == n_classes, "every class must have a log that is added");
    for (std::int64_t r = 0; r < n_rows; ++r) {
        expect(labels.data()[r] < n_classes, "a label is none of the classes");
        expect(weights.data()[r] >= 0 && std::isfinite(weights.data()[r]), "weights must be at least 0");
    }
    expect(!slopes || (slopes->ndim() == 1 && std::int64_t(slopes->shape(0)) == n_factors + n_classes),
           "slopes must have a place for every factor and class");
    expect(!losses || (losses->ndim() == 1 && std::int64_t(losses->shape(0)) == n_rows),
           "losses must have a place for every row");
    const FactorTerms terms{steps.data(), n_factors, n_rows, n_classes, unit, labels.data(), weights.data()};
    const Released release;
    return factor_loss(terms, factors.data(), fixed.data(), slopes ? slopes->data() : nullptr,
                       losses ? losses->data() : nullptr);
}

}  // namespace
}  // namespace forest_bindings

void bind_forest(nb::module_ &m) {
    using namespace forest_bindings;
    using nb::arg;
    nb::class_<ForestTables>(m, "ForestTables", "What every family of a forest says in each of its cells.")
        .def("score", &ForestTables::score, arg("slots"), arg("out").noconvert(), arg("child").none() = nb::none(),
             arg("n_jobs") = 1)
        .def("one", &ForestTables::one, arg("codes"), arg("prior"))
        .def("cells", &ForestTables::cells)
        .def_prop_ro("n_bytes", &ForestTables::n_bytes);
    nb::class_<Forest>(m, "Forest", "Families of columns, each smoothed from level to level.")
        .def(nb::init<const std::vector<std::int64_t> &, const GroupTable &, const IntTable &, float, float, float>(),
             arg("n_slots"), arg("groups"), arg("families"), arg("clip"), arg("weakest") = 0.05f,
             arg("strongest") = 1e4f)
        .def("learn", &Forest::learn, arg("slots"), arg("labels"), arg("weights"), arg("half"), arg("few"),
             arg("judged"), arg("n_classes"), arg("strengths").noconvert(), arg("first_terms").noconvert(),
             arg("second_terms").noconvert(), arg("n_jobs") = 1)
        .def("left_out", &Forest::left_out, arg("slots"), arg("labels"), arg("weights").none(), arg("judged_slots"),
             arg("judged_labels"), arg("judged_weights").none(), arg("n_classes"), arg("strengths"), arg("factors"),
             arg("out").noconvert(), arg("n_jobs") = 1)
        .def("tables", &Forest::tables, arg("slots"), arg("labels"), arg("weights").none(), arg("n_classes"),
             arg("strengths"), arg("factors"), arg("n_jobs") = 1)
        .def("tables_of", &Forest::tables_of, arg("cells"), arg("n_classes"))
        .def("table_starts", &Forest::table_starts, arg("n_classes"));
    m.def("factor_loss", &loss_of_factors, arg("steps"), arg("n_classes"), arg("unit"), arg("labels"), arg("weights"),
          arg("factors"), arg("fixed"), arg("slopes").noconvert().none() = nb::none(),
          arg("losses").noconvert().none() = nb::none(),
          "The weighted log loss of rows whose log posteriors are a weighted sum of factors, and its slopes.");
}
