// A forest of k-dependence networks: P(value | class, values of some other columns) for many families of columns, each
// of which sees the values in groups of its member's own; smoothed from level to level, and added up as weighted logs.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

namespace tanager::forest {

constexpr int most_parents = 16;

// A column and the columns that it depends on, the most important first, as one member groups their values. The group
// of missing values is the last of each column.
struct Family {
    int member = 0, child = 0, n_groups = 0, n_parents = 0;
    int parents[most_parents] = {}, radix[most_parents] = {};
    std::int64_t n_contexts = 1;  // combinations of groups of the parents
};

// Which families there are. A slot is a value of a column, or (the last of each column) a missing one.
struct Plan {
    int n_members = 0, n_columns = 0;
    std::vector<std::int64_t> starts;  // (n_columns + 1): where the slots of a column begin in a line of `groups`
    std::vector<std::uint8_t> groups;  // (n_members, starts[n_columns]): slot to group
    std::vector<Family> families;      // those of a member follow each other

    const std::uint8_t *groups_of(int member, int column) const {
        return groups.data() + member * starts[std::size_t(n_columns)] + starts[std::size_t(column)];
    }
};

// Rows as slots, column after column: (n_columns, n_rows).
struct Rows {
    const std::uint16_t *slots = nullptr;
    const std::uint16_t *labels = nullptr;  // nullptr: rows to answer
    const float *weights = nullptr;         // nullptr: all 1
    std::int64_t n_rows = 0;
    int n_classes = 0;
};

// How far a family may speak for a class against the average class, in logs: (-clip, clip).
struct Bounds {
    float clip = 2, weakest = 0.05f, strongest = 1e4f;  // the others: of strengths
};

// Rows in two halves, one after the other. The first of each half are left out in turn, one of rows that are the same:
// some to learn strengths by, and more of them to weigh families by.
struct Halves {
    std::int64_t half = 0;                             // the rows of the first half
    std::int64_t few[2] = {0, 0}, judged[2] = {0, 0};  // how many of each half
};

// Strengths of back-off, (families, most_parents + 1): for each half by itself, level after level, those under which
// its rows are most probable given their own class, and of the two what lies between. And what every family says about
// judged rows, left out of all rows, with strengths of the other half: logs, centred over the classes and clipped, in
// steps of clip / 127, in the order of FactorTerms, for either half.
void learn_families(const Plan &plan, const Rows &rows, const Halves &halves, const Bounds &bounds, int n_jobs,
                    float *strengths, std::int8_t *const terms[2]);

// The weighted sum of what all families say about judged rows, each left out of the rows: out (judged rows, classes).
void left_out_sums(const Plan &plan, const Rows &rows, const Rows &judged, const float *strengths, const float *weights,
                   const Bounds &bounds, int n_jobs, double *out);

// What a family says in each of its cells, as logs times its weight; a value that is missing says nothing. Contexts
// that no row has are all alike below the same shorter context, and with many classes they are most of a table: so they
// may share a line.
struct Table {
    std::int64_t n_lines = 0;
    std::unique_ptr<float[]> cells;    // (lines, groups, classes)
    std::vector<std::uint32_t> lines;  // (contexts): the line of each; empty where all have their own
};

// One for each family.
std::vector<Table> make_tables(const Plan &plan, const Rows &rows, const float *strengths, const float *weights,
                               const Bounds &bounds, int n_jobs);

// The sum of what the tables say, of all families or of those of one child: out (rows, classes).
void add_tables(const Plan &plan, const Rows &queries, const std::vector<Table> &tables, int child, int n_jobs,
                double *out);
constexpr int every_child = -1;

// The same for one row, given as one slot for each column, with as many sums as classes.
void add_tables_of_row(const Plan &plan, const std::uint16_t *slots, const std::vector<Table> &tables, int n_classes,
                       float *sums);

}  // namespace tanager::forest
