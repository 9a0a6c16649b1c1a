#include "watched_blocks.hpp"

#include <algorithm>

namespace tanager::drift {

namespace {

bool knows_values(const Watched &model, const Slots &values, const Batch &block, std::vector<int> &slot) {
    for (std::int64_t r = 0; r < block.n_rows(); ++r)
        if (block.labels.at(r) >= model.plan.store.k || !values.read(block.codes, r, slot.data())) return false;
    return true;
}

// The next rows of a block, of which `done` have gone before.
void run_block(Watched &model, const Batch &block, std::int64_t done, double tie, double *out) {
    const std::int64_t n_rows = block.n_rows(), k = model.plan.store.k;
    scoring::Stream stream;
    stream.rows = block;
    stream.unit = model.unit;
    stream.keeps_half = true;
    stream.stale = model.stale;
    double *judged = out;
    if (model.answered) {
        model.judged.resize(std::size_t(n_rows * k));
        stream.answered = model.answered->from(done, n_rows);
        stream.judged = judged = model.judged.data();
    }
    model.stale = scoring::test_then_train(model.plan, stream, out).stale;
    if (!model.knows)
        for (double *first : {out, judged}) std::fill(first, first + k, 1.0 / double(k));
    model.knows = true;
    model.wrong.resize(std::size_t(n_rows));
    for (std::int64_t r = 0; r < n_rows; ++r) {
        model.wrong[r] = is_wrong(judged + r * k, block.labels.at(r), k, tie);
        model.recent.add(model.wrong[r]);
        model.long_run.add(model.wrong[r]);
    }
}

}  // namespace

BlocksEnd run_blocks(Watched &front, Watched *beside, Duel &duel, Ddm &detector, const Quiet &quiet, std::int64_t every,
                     double tie, double *out) {
    const std::int64_t k = front.plan.store.k;
    const Slots of_front(front.plan.store, false), of_beside(beside ? beside->plan.store : front.plan.store, false);
    std::vector<int> slot(std::size_t(front.plan.store.n));
    BlocksEnd end{0, quiet.signal};
    while (every <= front.rows.n_rows() - end.n_rows) {
        const Batch block = front.rows.from(end.n_rows, every);
        if (!knows_values(front, of_front, block, slot)) break;
        if (beside) {  // first: the answers of the one in front are those that stay
            const Batch own = beside->rows.from(end.n_rows, every);
            if (!knows_values(*beside, of_beside, own, slot)) break;
            run_block(*beside, own, end.n_rows, tie, out + end.n_rows * k);
        }
        run_block(front, block, end.n_rows, tie, out + end.n_rows * k);
        end.n_rows += every;
        end.said = Signal::none;
        for (std::int64_t r = 0; r < every; ++r) {
            if (beside) duel.add(beside->wrong[r], front.wrong[r]);
            end.said = std::max(end.said, detector.hear(front.wrong[r]));
        }
        const bool waits = quiet.n_rows_left >= 0;
        if (waits ? end.said == Signal::drift || duel.is_won() || end.n_rows >= quiet.n_rows_left
                  : end.said != quiet.signal)
            break;
    }
    return end;
}

}  // namespace tanager::drift
