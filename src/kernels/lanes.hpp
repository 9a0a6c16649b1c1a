// A few doubles that travel together, one per class: pairs in vector registers for two, four and eight, plain numbers
// for one and three. Pairs, and not vectors of four or eight: without such registers the compiler keeps those in
// memory.
#pragma once
#include <cstring>

namespace tanager::scoring {

// Classes, padded to two or a multiple of four.
inline int twos_or_fours(int k) { return k <= 2 ? 2 : (k + 3) / 4 * 4; }

template <int K>
struct Lanes {
    static_assert(K % 2 == 0);
    typedef double Pair __attribute__((vector_size(16)));
    static constexpr int n_pairs = K / 2;
    Pair v[n_pairs];

    static Lanes load(const double *p) {
        return make([p](int u) {
            Pair out;
            std::memcpy(&out, p + 2 * u, sizeof out);
            return out;
        });
    }
    static Lanes all(double x) {
        return make([x](int) { return Pair{x, x}; });
    }
    // One by one: doubles that were just stored are loaded together only after a while.
    template <class Of>
    static Lanes each(const Of &of) {
        return make([&](int u) { return Pair{of(2 * u), of(2 * u + 1)}; });
    }
    void store(double *p) const {
        for (int u = 0; u < n_pairs; ++u) std::memcpy(p + 2 * u, &v[u], sizeof v[u]);
    }
    double operator[](int c) const { return v[c / 2][c % 2]; }
    friend Lanes operator+(Lanes a, Lanes b) {
        return make([&](int u) { return a.v[u] + b.v[u]; });
    }
    friend Lanes operator-(Lanes a, Lanes b) {
        return make([&](int u) { return a.v[u] - b.v[u]; });
    }
    friend Lanes operator*(Lanes a, Lanes b) {
        return make([&](int u) { return a.v[u] * b.v[u]; });
    }
    friend Lanes operator/(Lanes a, Lanes b) {
        return make([&](int u) { return a.v[u] / b.v[u]; });
    }
    Lanes at_least_zero() const {
        return make([this](int u) { return v[u] > 0 ? v[u] : Pair{}; });
    }

  private:
    template <class Of>
    [[gnu::always_inline]] static Lanes make(const Of &of) {
        Lanes out;
        for (int u = 0; u < n_pairs; ++u) out.v[u] = of(u);
        return out;
    }
};

template <>
struct Lanes<1> {
    double v;
    static Lanes load(const double *p) { return {*p}; }
    static Lanes all(double x) { return {x}; }
    void store(double *p) const { *p = v; }
    friend Lanes operator+(Lanes a, Lanes b) { return {a.v + b.v}; }
    friend Lanes operator*(Lanes a, Lanes b) { return {a.v * b.v}; }
    friend Lanes operator/(Lanes a, Lanes b) { return {a.v / b.v}; }
};

template <>
struct Lanes<3> {
    double v[3];
    static Lanes load(const double *p) { return {{p[0], p[1], p[2]}}; }
    static Lanes all(double x) { return {{x, x, x}}; }
    template <class Of>
    static Lanes each(const Of &of) {
        return {{of(0), of(1), of(2)}};
    }
    void store(double *p) const { std::memcpy(p, v, sizeof v); }
    friend Lanes operator+(Lanes a, Lanes b) { return {{a.v[0] + b.v[0], a.v[1] + b.v[1], a.v[2] + b.v[2]}}; }
    friend Lanes operator-(Lanes a, Lanes b) { return {{a.v[0] - b.v[0], a.v[1] - b.v[1], a.v[2] - b.v[2]}}; }
    friend Lanes operator*(Lanes a, Lanes b) { return {{a.v[0] * b.v[0], a.v[1] * b.v[1], a.v[2] * b.v[2]}}; }
    friend Lanes operator/(Lanes a, Lanes b) { return {{a.v[0] / b.v[0], a.v[1] / b.v[1], a.v[2] / b.v[2]}}; }
    Lanes at_least_zero() const { return {{v[0] > 0 ? v[0] : 0, v[1] > 0 ? v[1] : 0, v[2] > 0 ? v[2] : 0}}; }
};

}  // namespace tanager::scoring
