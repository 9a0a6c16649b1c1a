#include "staged_score.hpp"

namespace tanager::scoring {

void staged_answer(const ScoringPlan &p, const Progress &at, const double *total, const double *power,
                   const double *sub, bool log_joint, double *out) {
    if (finish(total, power, p.store.k, at.weight, log_joint, out)) return;
    class_prior(p.store, {Smoothing::lidstone, 1, p.estimate.unit}, sub, out);
    for (int c = 0; c < p.store.k && log_joint; ++c) out[c] = std::log(out[c]);
}

StagedScratch::StagedScratch(const ScoringPlan &plan) : reader(plan) {
    for (auto *v : {&total, &power, &value, &value_power, &naive, &answer}) v->resize(plan.store.k);
    members.resize(plan.members.size() * plan.store.k);
    if (TripleSweep::suits(plan)) sweep = std::make_unique<TripleSweep>(plan);
}

std::shared_ptr<StagedScratch> staged_scratch(const ScoringPlan &p) {
    return p.staging ? std::make_shared<StagedScratch>(p) : nullptr;
}

namespace {

// All members at once, as the plan would answer if it were not staged: much faster, and the same where all are to be
// added as joints. False where they give no class a chance: then the levels after the first must be gone through.
bool all_at_once(const ScoringPlan &plan, const Mixer &mixer, const int *slot, int left_out_class, double left_out,
                 Scratch &w) {
    StagedScratch &t = *w.staged;
    const int k = plan.store.k;
    if (left_out_class >= 0) w.sub[left_out_class] = left_out;
    const double qualified = plan.joint(slot, left_out_class >= 0, left_out, w);
    if (left_out_class >= 0) w.sub[left_out_class] = 0;
    multiply(w.m.data(), t.reader.factor(), k);
    if (!any_positive(w.m.data(), k)) return false;
    t.progress = Progress{};
    if (mixer.mix == Mix::joint) {
        t.reader.naive(t.total.data(), t.power.data());
        multiply(t.total.data(), t.reader.factor(), k);
    }
    mixer.add(t.progress, t.total.data(), t.power.data(), w.m.data(), w.e.data(), qualified);
    return true;
}

// Members that are pairs of attributes share the counts of triples: where most of them are to be added, these are read
// once for all. False as above.
bool most_in_a_sweep(const ScoringPlan &plan, const Mixer &mixer, const int *slot, int left_out_class, double left_out,
                     StagedScratch &t) {
    const int n = int(plan.members.size()), limit = mixer.limit < 0 ? n : mixer.limit;
    t.sweep->read(slot, left_out_class, left_out);
    t.progress = Progress{};
    t.reader.naive(t.total.data(), t.power.data());
    multiply(t.total.data(), t.reader.factor(), plan.store.k);
    for (int q = 0; q < n && t.progress.used < limit; ++q) {
        if (!t.sweep->member(q, t.value.data(), t.value_power.data())) continue;
        multiply(t.value.data(), t.reader.factor(), plan.store.k);
        mixer.add(t.progress, t.total.data(), t.power.data(), t.value.data(), t.value_power.data(),
                  plan.members[std::size_t(q)].weight);
        ++t.progress.used;
    }
    return t.progress.any_possible || limit == 0;
}

// All counts of triples are read for about a third of the members, one by one.
bool sweeps(const ScoringPlan &plan, const Mixer &mixer, const StagedScratch &t) {
    if (!t.sweep || mixer.mix != Mix::joint || mixer.may_stop_early()) return false;
    return mixer.limit < 0 || 3 * std::size_t(mixer.limit) >= plan.members.size();
}

}  // namespace

void score_staged(const ScoringPlan &plan, const int *slot, int left_out_class, double left_out, bool log_joint,
                  double *out, Scratch &w) {
    StagedScratch &t = *w.staged;
    const Mixer mixer(*plan.staging, plan.store.k);
    t.reader.start(slot, left_out_class, left_out);
    const bool all = plan.fast && mixer.limit < 0 && !mixer.may_stop_early() && mixer.mix != Mix::posterior;
    const bool done = all                      ? all_at_once(plan, mixer, slot, left_out_class, left_out, w)
                      : sweeps(plan, mixer, t) ? most_in_a_sweep(plan, mixer, slot, left_out_class, left_out, t)
                                               : false;
    if (!done) {
        mixer.first(t.reader, t.progress, t.total.data(), t.power.data());
        while (t.progress.next >= 0)
            mixer.step(t.reader, t.progress, t.total.data(), t.power.data(), t.value.data(), t.value_power.data());
    }
    staged_answer(plan, t.progress, t.total.data(), t.power.data(), t.reader.sub(), log_joint, out);
}

}  // namespace tanager::scoring
