#include "climb.hpp"

#include <algorithm>
#include <cmath>

#include "node_sets.hpp"

namespace tanager {

namespace {

constexpr double kNoScore = -std::numeric_limits<double>::infinity();

struct ClimbMove {
    int parent = -1, child = -1;
    bool found() const { return child >= 0; }
};

// A network, what every family would gain from one parent more or less, and for each child the best parent to add.
class GrowingNetwork {
  public:
    GrowingNetwork(FamilyScores &scores, const ClimbTask &task)
        : n(int(task.nodes.size())), parents(task.nodes.size()), scores_(scores), task_(task),
          below_(task.nodes.size()), next_below_(task.nodes.size()), closed_(task.nodes.size()),
          gains_(task.nodes.size() * task.nodes.size(), 0.0), family_(task.nodes.size(), 0.0),
          n_parents_(task.nodes.size(), 0), best_(task.nodes.size(), kNoScore), best_parent_(task.nodes.size(), -1) {
        for (int v = 0; v < n; ++v)
            for (int u = 0; u < n; ++u)
                if (u == v || !task.allowed[std::size_t(u)][std::size_t(v)]) closed_.add(v, u);
    }

    const int n;
    NodeSets parents;

    // What the family of v gains when u joins its parents or leaves them, once it was scored.
    double gain(int u, int v) const { return gains_[std::size_t(v) * std::size_t(n) + std::size_t(u)]; }
    std::size_t n_parents(int v) const { return n_parents_[std::size_t(v)]; }
    // Whether a directed path leads from u to v, the empty path included.
    bool leads(int u, int v) const { return below_.has(u, v); }
    bool can_add(int u, int v) const { return !closed_.has(v, u) && !parents.has(v, u) && !leads(v, u); }
    // The most that v gains from a parent more, among those that close no cycle; they must have been scored.
    double best_gain(int v) const { return best_[std::size_t(v)]; }
    double rounding() const {
        double score = 0.0;
        for (const double own : family_) score += own;
        return task_.rounding * std::max(std::abs(score), 1.0);
    }

    void change(int u, int v) {
        const bool there = parents.has(v, u);
        if (there) parents.remove(v, u);
        else parents.add(v, u);
        n_parents_[std::size_t(v)] += there ? std::size_t(-1) : 1;
    }

    // Scores the family of v, and those with one parent less; with one more of all that are allowed, or of none.
    void score(int v, bool with_more) {
        const Variables own = family_of(v);
        family_[std::size_t(v)] = scores_.of(child(v), own);
        for (const int u : parents.list(v)) {
            Variables fewer = own;
            fewer.erase(std::find(fewer.begin(), fewer.end(), child(u)));
            set_gain(u, v, scores_.of(child(v), fewer));
        }
        n_scored += std::int64_t(1 + n_parents(v));
        std::vector<int> more;
        for (int u = 0; u < n && with_more; ++u)
            if (!closed_.has(v, u) && !parents.has(v, u)) more.push_back(u);
        score_more(v, own, more);
        open_[std::size_t(v)] = with_more;
        find_best(v);
    }
    // Scores the family of v with these parents more, each by itself.
    void score_more(int v, const Variables &own, const std::vector<int> &more) {
        Variables added;
        for (const int u : more) added.push_back(child(u));
        found_.resize(more.size());
        scores_.with_one_more(child(v), own, added, found_.data());
        for (std::size_t k = 0; k < more.size(); ++k) set_gain(more[k], v, found_[k]);
        n_scored += std::int64_t(more.size());
    }
    Variables family_of(int v) const {
        Variables own = task_.given;
        for (const int u : parents.list(v)) own.push_back(child(u));
        std::sort(own.begin(), own.end());
        return own;
    }

    // After arcs have changed: who leads to whom, and whom that keeps from being a parent.
    void follow_paths() {
        find_below();
        for (int v = 0; v < n; ++v) {
            if (below_.same(v, next_below_, v)) continue;
            const bool grew = below_.within(v, next_below_, v);
            below_.assign(v, next_below_, v);
            const int best = best_parent_[std::size_t(v)];
            if (grew && (best < 0 || !leads(v, best))) continue;  // others have left, and the best is still there
            find_best(v);
        }
    }

    // Of all parents u of all children v that may be added with at least this gain, the first by u, or by v.
    ClimbMove first_to_add(double least, bool by_parent) const {
        ClimbMove first;
        for (int v = 0; v < n; ++v) {
            if (!(best_gain(v) >= least)) continue;
            int u = 0;
            while (!(can_add(u, v) && gain(u, v) >= least)) ++u;
            if (!first.found() || (by_parent && u < first.parent)) first = {u, v};
        }
        return first;
    }

    Climbed result() const {
        Climbed out;
        for (int v = 0; v < n; ++v) out.parents.push_back(parents.list(v));
        out.n_scored = n_scored;
        return out;
    }

    std::int64_t n_scored = 0;

  private:
    std::size_t child(int v) const { return task_.nodes[std::size_t(v)]; }
    void set_gain(int u, int v, double score) {
        gains_[std::size_t(v) * std::size_t(n) + std::size_t(u)] = score - family_[std::size_t(v)];
    }

    void find_best(int v) {
        double best = kNoScore;
        int at = -1;
        const double *own = &gains_[std::size_t(v) * std::size_t(n)];
        if (open_[std::size_t(v)])
            below_.visit_outside(v, closed_, v, parents, v, [&](int u) {
                if (own[u] > best) best = own[u], at = u;
            });
        best_[std::size_t(v)] = best;
        best_parent_[std::size_t(v)] = at;
    }

    // Each node after its children: what is below them is below it.
    void find_below() {
        std::vector<int> waiting(std::size_t(n), 0), ready;
        for (int v = 0; v < n; ++v)
            for (const int u : parents.list(v)) ++waiting[std::size_t(u)];
        for (int v = 0; v < n; ++v) {
            next_below_.clear(v);
            next_below_.add(v, v);
            if (waiting[std::size_t(v)] == 0) ready.push_back(v);
        }
        for (std::size_t at = 0; at < ready.size(); ++at)
            for (const int u : parents.list(ready[at])) {
                next_below_.add_all(u, next_below_, ready[at]);
                if (--waiting[std::size_t(u)] == 0) ready.push_back(u);
            }
    }

    FamilyScores &scores_;
    const ClimbTask &task_;
    NodeSets below_, next_below_;  // descendants, a node among its own
    NodeSets closed_;              // of each child, who may not be its parent
    std::vector<double> gains_;    // child after child
    std::vector<double> family_;   // the score of every family
    std::vector<std::size_t> n_parents_;
    std::vector<char> open_ = std::vector<char>(task_.nodes.size(), 0);  // whether a child may have one more
    std::vector<double> best_, found_;
    std::vector<int> best_parent_;
};

// Keeps the first of the moves that gain at least so much, by parent and child.
void keep_first(ClimbMove &first, int u, int v) {
    if (!first.found() || std::pair(u, v) < std::pair(first.parent, first.child)) first = {u, v};
}

class Climb {
  public:
    Climb(FamilyScores &scores, const ClimbTask &task) : task_(task), net_(scores, task), required_(task.nodes.size()) {
        for (const auto &[u, v] : task.required) {
            net_.change(u, v);
            required_.add(v, u);
        }
        net_.follow_paths();
        for (int v = 0; v < net_.n; ++v) score(v);
    }

    Climbed up() {
        while (step()) net_.follow_paths();
        return net_.result();
    }

  private:
    bool room(int v) const { return net_.n_parents(v) < task_.max_parents; }
    void score(int v) { net_.score(v, room(v)); }

    bool may_remove(int u, int v) const { return !required_.has(v, u); }
    // A reversal closes a cycle where another parent of v is below u.
    bool may_reverse(int u, int v) const {
        if (required_.has(v, u) || !task_.allowed[std::size_t(v)][std::size_t(u)] || !room(u)) return false;
        for (const int w : net_.parents.list(v))
            if (w != u && net_.leads(u, w)) return false;
        return true;
    }
    double gain_of_reversal(int u, int v) const { return net_.gain(u, v) + net_.gain(v, u); }

    template <class Visit>
    void visit_arcs(const Visit &visit) const {
        for (int v = 0; v < net_.n; ++v)
            for (const int u : net_.parents.list(v)) visit(u, v);
    }

    // Makes the best move; says whether there was one that gains.
    bool step() {
        const double rounding = net_.rounding();
        double top = kNoScore;
        for (int v = 0; v < net_.n; ++v) top = std::max(top, net_.best_gain(v));
        visit_arcs([&](int u, int v) {
            if (may_remove(u, v)) top = std::max(top, net_.gain(u, v));
            if (gain_of_reversal(u, v) > top && may_reverse(u, v)) top = gain_of_reversal(u, v);
        });
        if (!(top > rounding)) return false;
        const double least = top - rounding;
        ClimbMove move = net_.first_to_add(least, true);
        if (!move.found())
            visit_arcs([&](int u, int v) {
                if (may_remove(u, v) && net_.gain(u, v) >= least) keep_first(move, u, v);
            });
        const bool reverse = !move.found();
        if (reverse)
            visit_arcs([&](int u, int v) {
                if (gain_of_reversal(u, v) >= least && may_reverse(u, v)) keep_first(move, u, v);
            });
        net_.change(move.parent, move.child);
        if (reverse) {
            net_.change(move.child, move.parent);
            score(move.parent);
        }
        score(move.child);
        return true;
    }

    const ClimbTask &task_;
    GrowingNetwork net_;
    NodeSets required_;  // parents of each child
};

class ClimbAround {
  public:
    ClimbAround(FamilyScores &scores, const ClimbTask &task, int target, bool all_joined)
        : task_(task), target_(target), net_(scores, task) {
        for (int v = 0; v < net_.n && all_joined; ++v)
            if (may_join(v)) net_.change(target, v);
        net_.follow_paths();
        for (int v = 0; v < net_.n; ++v) score(v);
    }

    Climbed up() {
        while (step()) net_.follow_paths();
        return net_.result();
    }

  private:
    bool may_join(int v) const { return v != target_ && task_.allowed[std::size_t(target_)][std::size_t(v)]; }
    bool joined(int v) const { return net_.parents.has(v, target_); }
    void score(int v) {
        net_.score(v, joined(v) && net_.n_parents(v) <= task_.max_parents);
        if (!joined(v) && may_join(v)) net_.score_more(v, net_.family_of(v), {target_});
    }
    bool may_remove(int u, int v) const { return u != target_ || net_.n_parents(v) == 1; }

    // Makes the best move; says whether there was one that gains.
    bool step() {
        const double rounding = net_.rounding();
        double top = kNoScore;
        for (int v = 0; v < net_.n; ++v) {
            top = std::max(top, net_.best_gain(v));
            if (!joined(v) && may_join(v)) top = std::max(top, net_.gain(target_, v));
            for (const int u : net_.parents.list(v))
                if (may_remove(u, v)) top = std::max(top, net_.gain(u, v));
        }
        if (!(top > rounding)) return false;
        const ClimbMove move = first_of(std::max(top - rounding, std::nextafter(rounding, 1.0)));
        net_.change(move.parent, move.child);
        score(move.child);
        return true;
    }

    ClimbMove first_of(double least) const {
        for (int v = 0; v < net_.n; ++v)
            if (!joined(v) && may_join(v) && net_.gain(target_, v) >= least) return {target_, v};
        if (const ClimbMove move = net_.first_to_add(least, false); move.found()) return move;
        for (int v = 0; v < net_.n; ++v)
            if (joined(v) && may_remove(target_, v) && net_.gain(target_, v) >= least) return {target_, v};
        for (int v = 0; v < net_.n; ++v)
            for (const int u : net_.parents.list(v))
                if (u != target_ && net_.gain(u, v) >= least) return {u, v};
        return {};
    }

    const ClimbTask &task_;
    const int target_;
    GrowingNetwork net_;
};

}  // namespace

Climbed climb(FamilyScores &scores, const ClimbTask &task) { return Climb(scores, task).up(); }

Climbed climb_around(FamilyScores &scores, const ClimbTask &task, int target, bool all_joined) {
    return ClimbAround(scores, task, target, all_joined).up();
}

}  // namespace tanager
