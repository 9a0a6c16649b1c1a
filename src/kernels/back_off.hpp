// The strengths of a learned back-off: how far each level of a family leans on the one below it.
//
//   theta_l(v | u_l) = (n_l(v, u_l) + c_l theta_{l-1}(v | u_{l-1})) / (n_l(u_l) + c_l),   theta_{-1} = 1 / r
//
// Level l knows the class and the first l parents. The strengths c_0, ..., c_d of a family maximise the sum of
// n(v, u_d) log theta'_d(v | u_d) over the cells that occur, where theta' is theta without one row of that cell, on
// every level of its path. What is taken out is a weight of 1, or the whole cell where it holds less. A `prior` above 0
// takes prior / 2 (log c - log start)^2 off for every strength that is learned: log c is as if normal around where the
// search begins, so that the few rows of a small table do not send it to a bound.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "interrupt.hpp"

namespace tanager::scoring {

constexpr double kLeastStrength = 1e-3, kMostStrength = 1e6;

// The cells of one family, each less one row. Cells of a level that lie above the same cell of the level below share
// it: a step of the search works out each of them once.
struct BackOffCells {
    struct Level {
        std::vector<double> own, context;  // n_l(v, u_l) and n_l(u_l), less the row
        std::vector<std::int32_t> below;   // the cell of the level below
    };
    std::vector<Level> levels;
    std::vector<double> weight;  // n_d(v, u_d), of the cells of the last level
    double uniform = 1;          // 1 / r
};

// The strengths of all levels, found from `start` on in log c; the first `n_fixed` levels keep theirs.
std::vector<double> learn_strengths(const BackOffCells &cells, double start, double prior, int n_fixed = 0);

// Those of all families of a plan, from the counts as they are now.
struct ScoringPlan;
void learn_strengths(ScoringPlan &plan);

// Collects the cells of a family with r outcomes in each of so many groups (the classes, or 1). `sizes` are the values
// of the parents; fill(level, slots of the parents up to that level, out) writes n_level(v, y) to out[v * groups + y],
// or is false where it knows that all are 0: most combinations of parents with many values never occur, and reading
// their cells would take longer than all else. Contexts that never occurred are not entered.
template <class Fill>
class BackOffGatherer {
  public:
    BackOffGatherer(std::vector<int> sizes, int r, int groups, double unit, const Fill &fill)
        : sizes_(std::move(sizes)), r_(r), groups_(groups), unit_(unit), fill_(fill), slot_(sizes_.size()),
          seen_(sizes_.size() + 1) {
        cells_.levels.resize(seen_.size());
        cells_.uniform = r > 0 ? 1.0 / r : 1.0;
        for (Seen &s : seen_) {
            s.own.resize(std::size_t(r) * groups);
            s.context.resize(groups);
            s.place.resize(std::size_t(r) * groups);
        }
    }
    BackOffCells gather() {
        visit(0);
        return std::move(cells_);
    }

  private:
    struct Seen {  // the counts of the present context on one level, and where its cells went
        std::vector<double> own, context;
        std::vector<std::int32_t> place;
    };
    std::vector<int> sizes_;
    int r_, groups_;
    double unit_;
    const Fill &fill_;
    std::vector<int> slot_;
    std::vector<Seen> seen_;
    std::int64_t n_read_ = 0;  // contexts
    BackOffCells cells_;

    void visit(std::size_t level) {
        Seen &s = seen_[level];
        if (!fill_(int(level), slot_.data(), s.own.data())) return;
        check_interrupt(n_read_++);
        std::fill(s.context.begin(), s.context.end(), 0.0);
        std::fill(s.place.begin(), s.place.end(), -1);
        bool any = false;
        for (std::size_t at = 0; at < s.own.size(); ++at) {
            s.own[at] /= unit_;
            s.context[at % groups_] += s.own[at];
            any = any || s.own[at] > 0;
        }
        if (!any) return;
        if (level == sizes_.size()) return take();
        for (int v = 0; v < sizes_[level]; ++v) {
            slot_[level] = v;
            visit(level + 1);
        }
    }
    void take() {
        const Seen &s = seen_.back();
        for (std::size_t at = 0; at < s.own.size(); ++at) {
            if (!(s.own[at] > 0)) continue;
            cell(seen_.size() - 1, at, std::min(1.0, s.own[at]));
            cells_.weight.push_back(s.own[at]);
        }
    }
    // The number of a cell less a row of this weight, and of the cells below it.
    std::int32_t cell(std::size_t level, std::size_t at, double row) {
        Seen &s = seen_[level];
        if (row == 1 && s.place[at] >= 0) return s.place[at];
        const std::int32_t below = level > 0 ? cell(level - 1, at, row) : -1;
        BackOffCells::Level &to = cells_.levels[level];
        to.own.push_back(std::max(0.0, s.own[at] - row));
        to.context.push_back(std::max(0.0, s.context[at % groups_] - row));
        to.below.push_back(below);
        const auto number = std::int32_t(to.own.size() - 1);
        if (row == 1) s.place[at] = number;
        return number;
    }
};

template <class Fill>
BackOffCells gather_back_off(std::vector<int> sizes, int r, int groups, double unit, const Fill &fill) {
    return BackOffGatherer<Fill>(std::move(sizes), r, groups, unit, fill).gather();
}

}  // namespace tanager::scoring
