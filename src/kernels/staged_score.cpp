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

}  // namespace

void score_staged(const ScoringPlan &plan, const int *slot, int left_out_class, double left_out, bool log_joint,
                  double *out, Scratch &w) {
    StagedScratch &t = *w.staged;
    const Mixer mixer(*plan.staging, plan.store.k);
    t.reader.start(slot, left_out_class, left_out);
    const bool all = plan.fast && mixer.limit < 0 && !mixer.may_stop_early() && mixer.mix != Mix::posterior;
    if (!all || !all_at_once(plan, mixer, slot, left_out_class, left_out, w)) {
        mixer.first(t.reader, t.progress, t.total.data(), t.power.data());
        while (t.progress.next >= 0)
            mixer.step(t.reader, t.progress, t.total.data(), t.power.data(), t.value.data(), t.value_power.data());
    }
    staged_answer(plan, t.progress, t.total.data(), t.power.data(), t.reader.sub(), log_joint, out);
}

}  // namespace tanager::scoring
