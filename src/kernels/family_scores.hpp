// How well families, a child with its parents, fit a sample: the sums that searches by score maximise.
#pragma once
#include <deque>
#include <limits>
#include <map>
#include <vector>

#include "sample.hpp"

namespace tanager {

enum class ScoreKind { ll, aic, bic, k2, bdeu };

// log gamma(n + prior) of whole numbers n, each worked out when it is first asked for.
class LogGammas {
  public:
    LogGammas(double prior, std::size_t n_rows);
    double of(double n);

  private:
    double prior_;
    std::vector<double> known_;  // NaN where it was not asked for yet
};

// Scores of many families of one kind, over the rows in which all variables of a family are present.
class FamilyScores {
  public:
    // `strength` is the equivalent sample size of BDeu.
    FamilyScores(const Sample &sample, ScoreKind kind, double strength, SampleMethod method = SampleMethod::automatic);

    // The score of a child with these parents, in ascending order.
    double of(std::size_t child, const Variables &parents);
    // out[k] = that with `own`, in ascending order, and added[k]; all share the counting of `own`.
    void with_one_more(std::size_t child, const Variables &own, const Variables &added, double *out);

  private:
    struct Sum;

    Sum new_sum(std::size_t child, double n_configurations);
    LogGammas *log_gammas(double prior);
    bool by_hash(const Variables &base, std::size_t other) const;
    double by_groups(std::size_t child, const Variables &parents);

    const Sample &sample_;
    ScoreKind kind_;
    double strength_;
    SampleMethod method_;
    std::map<double, LogGammas> log_gammas_;  // by their prior
    std::vector<double> cells_;               // of the tables at hand
};

// out[k] = the score of the child with parents[k]. Families that differ in one parent share the counting of the rest.
void family_scores(const Sample &sample, ScoreKind kind, std::size_t child, const std::vector<Variables> &parents,
                   double strength, SampleMethod method, double *out);

}  // namespace tanager
