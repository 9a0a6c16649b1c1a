// Sums of products over all sets of so many columns, counted in the learned rows for each row that is asked about.
//
//   P(y, x) = mean over s of  P(y, x_s) prod_{j not in s} P(x_j | y, x_s)     over sets s seen min_count times together
//
// is what a ScoringPlan reads from tables of all sets of one column more. With many columns these tables have far more
// cells than an answer reads, and most of them are zero. Here the rows are kept instead, by class, and whatever a
// row needs is counted when it comes: bit slices say which learned rows have its value of a column, and the number of
// rows with several of its values is the number of bits that their slices share.
//
// Layout: the rows of each class fill whole words of 64 rows, the rest of the last one with markers. Codes stand column
// after column, in one byte each where that will do.
#pragma once
#include <cstdint>
#include <limits>
#include <mutex>
#include <vector>

#include "score_rows.hpp"

namespace tanager {

class SumOverRows {
  public:
    static constexpr int kMostColumns = 8;  // of a set, and of a set with one column more
    static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();  // of what no row was asked

    // What is asked of a row.
    struct Question {
        int size;                             // columns in a set: 2 to kMostColumns - 1
        double min_count;                     // a set is eligible that was seen so often
        std::vector<double> priors, factors;  // of the classes; empty for none
        scoring::LeftOut left_out;
        bool log_joint;
    };

    // Pseudo-counts must be the same in all contexts, and positive: Lidstone's rule or the m-estimate.
    SumOverRows(const Batch &rows, std::vector<int> n_values, int n_classes, scoring::Estimate estimate,
                bool smooth_unseen);

    // Posteriors, or logs of the joint; NaN where no set is eligible for a row, or every class is impossible.
    void score(const Codes &codes, const Question &question, int n_jobs, double *out);
    // For one row P(y, x_s) and every P(x_j | y, x_s): (sets in ascending order, columns + 1, classes), the joint last.
    // NaN where the set is not eligible, or the column is missing or in the set.
    void parts(const Codes &row, int size, double min_count, double *out);

    int n_columns() const { return n_; }
    int n_classes() const { return k_; }
    std::int64_t n_sets(int size) const;  // of all columns, or -1 where there are too many to be numbered

  private:
    struct Work;
    template <bool Logs>
    class Search;

    int code_of(const Codes &codes, std::int64_t r, int i) const;  // -1 where it is missing
    void slice(int i, int value, std::uint64_t *out) const;
    double weigh(std::uint64_t bits, std::int64_t word) const;  // the rows of a word whose bits are set
    std::int64_t choose(int i, int m) const {                   // m of i columns, at most kMostSets
        return choices_[std::size_t(i * (kMostColumns + 1) + m)];
    }
    // The number of a set, in ascending order, among all sets of its size: by its last column, then the one before.
    std::int64_t number_of(const int *set, int size) const;
    // The weight of the rows that have a value in each column of a set, sets by their number; empty without gaps.
    const std::vector<double> &complete_rows(int size);
    double joint_cell(const int *set, int size) const;  // pseudo-count of P(y, x_s), and the total of all of these
    double joint_total(const int *set, int size) const;
    void read_row(const Codes &codes, std::int64_t r, Work &work) const;
    void first_level(int size, Work &work) const;
    double least_bits(int size, const Work &work) const;
    void answer_row(const Codes &codes, std::int64_t r, const Question &question, const std::vector<double> &complete,
                    Work &work, double *out) const;

    static constexpr std::int64_t kMostSets = std::int64_t(1) << 40;
    int n_, k_;
    std::vector<std::int64_t> choices_;
    std::vector<int> n_values_;
    scoring::Estimate estimate_;
    bool smooth_unseen_, wide_, unit_ = true, ever_missing_ = false;
    std::vector<std::int64_t> first_word_;  // of each class, and the end
    std::vector<std::uint8_t> narrow_codes_;
    std::vector<std::uint16_t> wide_codes_;
    std::vector<double> weight_;  // of the rows, where not all are 1
    std::vector<double> class_weight_;
    double all_rows_ = 0;
    std::vector<double> cell_, total_;                 // pseudo-counts of each column
    std::vector<std::vector<std::uint64_t>> missing_;  // rows without a value in a column; empty where there are none

    std::mutex mutex_;
    std::vector<std::vector<double>> complete_;  // by size, once they were asked for
};

}  // namespace tanager
