// Whether a set of variables separates two others: tests of independence, given what lies on the paths between them.
#pragma once
#include <vector>

#include "remembered_information.hpp"

namespace tanager {

struct IndependenceTest {
    enum class Kind { threshold, g_squared, pearson };
    Kind kind = Kind::threshold;
    double bound = 0;  // in nats, or a level of significance
    bool guard = true, naive = false;

    bool independent(const Information &information) const;
};

// Nodes 0, 1, ... and the edges between them; and its blocks: largest sets of nodes that stay connected, whichever one
// of them is removed. The nodes on paths between two nodes are those of the blocks on the way from one to the other.
class BlockGraph {
  public:
    explicit BlockGraph(std::size_t n) : joined_(n, std::vector<char>(n, 0)), neighbours_(n) {}
    std::size_t size() const { return neighbours_.size(); }
    const std::vector<int> &neighbours(int a) const { return neighbours_[std::size_t(a)]; }
    void join(int a, int b);
    void part(int a, int b);
    // One flag per node: whether it lies on a path between a and b that passes no node twice; without the ends.
    std::vector<char> between(int a, int b);

  private:
    void find_blocks();
    void search(int root, std::vector<int> &depth);
    int shared(int a, int b) const;

    std::vector<std::vector<char>> joined_;
    std::vector<std::vector<int>> neighbours_;
    bool known_ = false;  // the blocks of the present edges
    std::vector<std::vector<int>> blocks_, of_;
    int last_ = -1;  // the block of these flags: many pairs in turn have the same
    std::vector<char> last_flags_;
};

struct Attempt {
    bool separated = false, too_many = false;
    bool tested = false;  // otherwise there was no set, or too large a one, and the information is left open
    std::vector<int> given;
    Information information{};
};

// Tests between nodes 0, 1, ..., which are variables of a sample. It is not for several threads.
struct Separation {
    BlockGraph graph;
    IndependenceTest test;
    std::size_t max_cond;
    std::vector<std::vector<char>> allowed;  // [parent][child]
    Variables nodes, given;                  // which variables the nodes are; conditions of every test
    RememberedInformation &known;
    SearchedLayers searched{};
    std::int64_t n_tests = 0;
    Variables conditions{};  // of the test at hand, or where the search is

    // The information of two nodes given others, in ascending order: by a test, or looked up for a pair.
    Information ask(int a, int b, const std::vector<int> &between);
    Information look_up(int a, int b, const std::vector<int> &between = {});
    // A pair is separated by a set, or by what is left of it after colliders are dropped one by one: the node without
    // which the least information is left is dropped, until that increases the information.
    Attempt separate(int a, int b, std::vector<int> some);
    // By the neighbours of one end between the two, except known children; then by those of the other.
    Attempt by_neighbours(int a, int b, const std::vector<char> &between);
    // By the neighbours of one end and their neighbours, for the end where these are fewer.
    Attempt widely(int a, int b, const std::vector<char> &between);

  private:
    const Variables &places(const std::vector<int> &some);  // what is given, and these
    // The node to drop next from a set that does not separate, if any.
    LeftOut least_without(int a, int b, const Attempt &now);  // by a threshold
    LeftOut best_without(int a, int b, const Attempt &now);
};

}  // namespace tanager
