#include "wrapper_search.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <unordered_map>

#include "threads.hpp"

namespace tanager::scoring {

namespace {

// To twelve decimals, the nearest one, as a search compares: what is left of rounding is no difference.
double to_twelve_decimals(double x) {
    char text[400];
    std::snprintf(text, sizeof text, "%.12f", x);
    return std::strtod(text, nullptr);
}

}  // namespace

SearchedAnswers::SearchedAnswers(const AnsweredRows &rows, const SearchOptions &options_)
    : options(options_), rows_(rows), joint_(rows.joint, rows.joint + rows.n_rows * rows.k) {
    rows_.joint = joint_.data();
}

double SearchedAnswers::criterion_of(const ChangeScore &score) const {
    return options.log_loss ? to_twelve_decimals(score.log_probability / options.total)
                            : 1.0 - score.wrong / options.total;
}

double SearchedAnswers::criterion() const {
    return criterion_of(score_change(rows_, {}, options.log_loss, options.log_loss));
}

// Of the changes with the largest criterion, the place of the one with the largest probability; the first of equals.
template <class Score>
std::size_t SearchedAnswers::first_best(const std::vector<double> &criterion, double most, const Score &score) const {
    std::vector<std::size_t> tied;
    for (std::size_t q = 0; q < criterion.size(); ++q)
        if (criterion[q] == most) tied.push_back(q);
    if (tied.size() == 1 || options.log_loss) return tied[0];
    std::size_t best = tied[0];
    double largest = -1;
    for (const std::size_t q : tied) {
        check_interrupt();
        const double probability = to_twelve_decimals(score(q).probability / options.total);
        if (probability > largest) {
            best = q;
            largest = probability;
        }
    }
    return best;
}

std::pair<std::size_t, double> SearchedAnswers::best(const std::vector<const Factor *> &factors, double above) const {
    const auto change = [&](std::size_t q) { return Factors(&factors[q], 1); };
    std::vector<double> criterion(factors.size());
    if (options.log_loss) {
        in_turn(factors.size(), options.n_jobs, [&](std::size_t, std::size_t q) {
            criterion[q] = criterion_of(score_change(rows_, change(q), true, true));
        });
    } else {
        count_changes(rows_, factors.size(), change, true, options.n_jobs, criterion.data());
        for (double &own : criterion) own = criterion_of({own});
    }
    const auto most = std::max_element(criterion.begin(), criterion.end());
    if (!(*most > above)) return {std::size_t(most - criterion.begin()), *most};
    const auto score = [&](std::size_t q) { return score_change(rows_, change(q), true, false); };
    return {first_best(criterion, *most, score), *most};
}

template <class Sum>
std::size_t SearchedAnswers::best_sum(std::size_t n, const Sum &sum) const {
    std::vector<double> criterion(n);
    in_turn(n, options.n_jobs, [&](std::size_t thread, std::size_t q) {
        criterion[q] = criterion_of(score_sum(rows_, sum(q, thread), options.log_loss, options.log_loss));
    });
    const double most = *std::max_element(criterion.begin(), criterion.end());
    return first_best(criterion, most, [&](std::size_t q) { return score_sum(rows_, sum(q, 0), true, false); });
}

// --- trees ----------------------------------------------------------------------------------------------------------

namespace {

constexpr std::size_t kMostSums = 30'000'000;  // numbers that are kept; beyond, arcs are added up again in each step
constexpr int kNoParent = -1;

using Arcs = std::vector<std::pair<int, int>>;
using Children = std::vector<int>;

class TreeSearch {
  public:
    TreeSearch(LeftOutFactors &factors, SearchedAnswers &answers, int n_columns, const Promising &promising)
        : factors_(factors), answers_(answers), promising_(promising), parents_(std::size_t(n_columns), kNoParent),
          alone_(std::size_t(n_columns)), arcs_(std::size_t(n_columns) * std::size_t(n_columns)),
          sums_(std::size_t(n_columns)), scratch_(std::size_t(std::max(1, answers.options.n_jobs))) {}

    std::vector<int> run(bool by_super_parent) {
        double current = answers_.criterion();
        for (Promising options = possible(); !options.empty(); options = possible()) {
            if (by_super_parent && options.size() > 1) {
                prepare(options);
                const std::size_t best = answers_.best_sum(options.size(), [&](std::size_t q, std::size_t thread) {
                    return sum(options[q].first, options[q].second, thread);
                });
                options = {options[best]};
            }
            prepare(options);
            Arcs tried;
            std::vector<const Factor *> changes;
            for (const auto &[s, children] : options)
                for (const int c : children) {
                    tried.emplace_back(s, c);
                    changes.push_back(arc(s, c).get());
                }
            const double least = current + answers_.options.min_gain;
            const auto [place, criterion] = answers_.best(changes, least);
            if (!(criterion > least)) break;
            answers_.make(*changes[place]);
            parents_[std::size_t(tried[place].second)] = tried[place].first;
            current = criterion;
        }
        return parents_;
    }

  private:
    LeftOutFactors &factors_;
    SearchedAnswers &answers_;
    const Promising &promising_;
    std::vector<int> parents_;
    std::vector<std::shared_ptr<Factor>> alone_, arcs_;  // P(x_c | y); P(x_c | y, x_s) in place of it
    struct Kept {
        Children children;
        std::vector<double> total;
    };
    std::vector<Kept> sums_;  // of the arcs from a parent to all these children: from step to step few change
    std::vector<std::vector<double>> scratch_;

    std::shared_ptr<Factor> &arc(int s, int c) { return arcs_[std::size_t(s) * parents_.size() + std::size_t(c)]; }

    // Columns that can be a parent, each with the orphans that it can be a parent of.
    Promising possible() const {
        Promising found;
        for (const auto &[s, children] : promising_) {
            Children left;
            for (const int c : children) {
                if (parents_[std::size_t(c)] != kNoParent) continue;
                int above = parents_[std::size_t(s)];
                while (above != kNoParent && above != c) above = parents_[std::size_t(above)];
                if (above == kNoParent) left.push_back(c);
            }
            if (!left.empty()) found.emplace_back(s, std::move(left));
        }
        return found;
    }

    void prepare(const Promising &options) {
        for (const auto &[s, children] : options)
            for (const int c : children) {
                if (arc(s, c)) continue;
                check_interrupt();
                std::shared_ptr<Factor> &alone = alone_[std::size_t(c)];
                if (!alone) alone = factors_.make({{c}, {{}}, {1.0}, {}, {}}, {});
                arc(s, c) = factors_.make({{c}, {{s}}, {1.0}, {}, {}}, {alone.get()});
            }
    }

    // What arcs from s to all these children do, as logs for every row and class.
    const double *sum(int s, const Children &children, std::size_t thread) {
        const std::size_t size = factors_.n_rows() * factors_.n_classes();
        if (size * sums_.size() > kMostSums) {
            std::vector<double> &total = scratch_[thread];
            total.assign(size, 0.0);
            add_all(s, children, 1, total.data());
            return total.data();
        }
        Kept &kept = sums_[std::size_t(s)];
        Children gone, fresh;
        std::set_difference(kept.children.begin(), kept.children.end(), children.begin(), children.end(),
                            std::back_inserter(gone));
        std::set_difference(children.begin(), children.end(), kept.children.begin(), kept.children.end(),
                            std::back_inserter(fresh));
        kept.total.resize(size);
        add_all(s, gone, -1, kept.total.data());
        add_all(s, fresh, 1, kept.total.data());
        kept.children = children;
        return kept.total.data();
    }

    void add_all(int s, const Children &children, double sign, double *out) {
        for (const int c : children) arc(s, c)->add_to(out, sign);
    }
};

}  // namespace

std::vector<int> search_tree(LeftOutFactors &factors, SearchedAnswers &answers, int n_columns,
                             const Promising &promising, bool by_super_parent) {
    return TreeSearch(factors, answers, n_columns, promising).run(by_super_parent);
}

// --- joined columns -------------------------------------------------------------------------------------------------

namespace {

class BlockSearch {
  public:
    BlockSearch(LeftOutFactors &factors, SearchedAnswers &answers, const JoiningOptions &options)
        : factors_(factors), answers_(answers), options_(options) {
        for (std::size_t i = 0; i < options.n_cells.size(); ++i) {
            blocks_.push_back({{int(i)}, options.n_cells[i], {}, {}});
            (options.backward ? there_ : unused_).push_back(i);
        }
    }

    std::vector<JoiningStep> run() {
        std::vector<JoiningStep> steps;
        double current = answers_.criterion();
        for (;;) {
            const Moves moves = all_moves();
            if (moves.empty()) break;
            std::vector<const Factor *> changes;
            for (const Move &move : moves) changes.push_back(move.factor);
            const double least = current + answers_.options.min_gain;
            const auto [place, criterion] = answers_.best(changes, least);
            if (!(criterion > least)) break;
            answers_.make(*changes[place]);
            current = criterion;
            steps.push_back(step(moves[place], current));
        }
        return steps;
    }

  private:
    static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
    struct Block {
        std::vector<int> columns;
        double n_cells;
        std::shared_ptr<Factor> added, left_out;
    };
    struct Move {
        std::size_t block, other;  // which is joined to it, or none
        const Factor *factor;
    };
    using Moves = std::vector<Move>;

    LeftOutFactors &factors_;
    SearchedAnswers &answers_;
    const JoiningOptions &options_;
    std::vector<Block> blocks_;  // all that there ever were
    std::vector<std::size_t> there_,
        unused_;  // those in the product, in the order of their columns; columns that are not
    std::unordered_map<std::uint64_t, std::shared_ptr<Factor>> joined_;  // of two; none: too many columns or cells
    std::size_t nbytes_ = 0;

    // Blocks to add, or to leave out if they are there, and then those to join, in the order in which they are tried.
    Moves all_moves() {
        Moves moves;
        for (const std::size_t q : options_.backward ? there_ : unused_) {
            const Factor *factor = options_.backward ? left_out(q) : added(q).get();
            moves.push_back({q, kNone, factor});
        }
        const auto try_to_join = [&](std::size_t q, std::size_t other) {
            if (const Factor *factor = joined(q, other)) moves.push_back({q, other, factor});
        };
        if (options_.backward) {
            for (std::size_t a = 0; a < there_.size(); ++a)
                for (std::size_t b = a + 1; b < there_.size(); ++b) try_to_join(there_[a], there_[b]);
        } else {
            for (const std::size_t column : unused_)
                for (const std::size_t block : there_) try_to_join(column, block);
        }
        return moves;
    }

    const std::shared_ptr<Factor> &added(std::size_t q) {
        Block &block = blocks_[q];
        if (!block.added) {
            check_interrupt();
            block.added = block.columns.size() > 1 ? factors_.make_block(block.columns, {})
                                                   : factors_.make({block.columns, {{}}, {1.0}, {}, {}}, {});
        }
        return block.added;
    }

    const Factor *left_out(std::size_t q) {
        std::shared_ptr<Factor> &factor = blocks_[q].left_out;
        if (!factor) factor = std::make_shared<Factor>(added(q)->negated());
        return factor.get();
    }

    static std::uint64_t key(std::size_t q, std::size_t other) { return std::uint64_t(q) << 32 | other; }

    const Factor *joined(std::size_t q, std::size_t other) {
        auto [found, is_new] = joined_.try_emplace(key(q, other));
        if (!is_new) return found->second.get();
        const double n_cells = blocks_[q].n_cells * blocks_[other].n_cells;
        if (blocks_[q].columns.size() + blocks_[other].columns.size() > options_.most_columns ||
            n_cells * double(factors_.n_classes()) > options_.most_cells)
            return nullptr;
        check_interrupt();
        std::vector<const Factor *> over{added(other).get()};  // which is there; q may be
        if (options_.backward) over.insert(over.begin(), added(q).get());
        found->second = factors_.make_block(both(q, other), over);
        nbytes_ += found->second->nbytes();
        return found->second.get();
    }

    std::vector<int> both(std::size_t q, std::size_t other) const {
        const auto &one = blocks_[q].columns, &two = blocks_[other].columns;
        std::vector<int> columns(one.size() + two.size());
        std::merge(one.begin(), one.end(), two.begin(), two.end(), columns.begin());
        return columns;
    }

    JoiningStep step(const Move &move, double criterion) {
        JoiningStep done{{blocks_[move.block].columns}, criterion};
        const bool was_there = options_.backward;
        remove(was_there ? there_ : unused_, move.block);
        if (move.other != kNone) {
            done.chosen.push_back(blocks_[move.other].columns);
            remove(there_, move.other);
            blocks_.push_back(
                {both(move.block, move.other), blocks_[move.block].n_cells * blocks_[move.other].n_cells, {}, {}});
            insert(blocks_.size() - 1);
        } else if (!was_there) {
            insert(move.block);
        }
        forget(move);
        return done;
    }

    static void remove(std::vector<std::size_t> &from, std::size_t q) {
        from.erase(std::find(from.begin(), from.end(), q));
    }

    void insert(std::size_t q) {
        const auto before = [this](std::size_t a, std::size_t b) { return blocks_[a].columns < blocks_[b].columns; };
        there_.insert(std::upper_bound(there_.begin(), there_.end(), q, before), q);
    }

    // Blocks that were moved are not joined again as they were; all that were are forgotten where they take much
    // memory.
    void forget(const Move &move) {
        if (nbytes_ > options_.cached_bytes) {
            joined_.clear();
            nbytes_ = 0;
        }
        for (auto own = joined_.begin(); own != joined_.end();) {
            const auto one = std::size_t(own->first >> 32), other = std::size_t(own->first & 0xFFFFFFFF);
            if (one == move.block || other == move.block || one == move.other || other == move.other) {
                if (own->second) nbytes_ -= own->second->nbytes();
                own = joined_.erase(own);
            } else {
                ++own;
            }
        }
    }
};

}  // namespace

std::vector<JoiningStep> search_blocks(LeftOutFactors &factors, SearchedAnswers &answers,
                                       const JoiningOptions &options) {
    return BlockSearch(factors, answers, options).run();
}

}  // namespace tanager::scoring
