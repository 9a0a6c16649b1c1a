// A few doubles that travel together, one per class: vector registers for two, four and eight, plain numbers for three.
#pragma once
#include <cstring>

namespace tanager::scoring {

template <int K>
struct Lanes {
    typedef double Vector __attribute__((vector_size(8 * K)));
    Vector v;
    static Lanes load(const double *p) {
        Lanes out;
        std::memcpy(&out.v, p, sizeof out.v);
        return out;
    }
    static Lanes all(double x) { return {Vector{} + x}; }
    void store(double *p) const { std::memcpy(p, &v, sizeof v); }
    friend Lanes operator+(Lanes a, Lanes b) { return {a.v + b.v}; }
    friend Lanes operator-(Lanes a, Lanes b) { return {a.v - b.v}; }
    friend Lanes operator*(Lanes a, Lanes b) { return {a.v * b.v}; }
    friend Lanes operator/(Lanes a, Lanes b) { return {a.v / b.v}; }
    Lanes at_least_zero() const { return {v > 0 ? v : Vector{}}; }
};

template <>
struct Lanes<3> {
    double v[3];
    static Lanes load(const double *p) { return {{p[0], p[1], p[2]}}; }
    static Lanes all(double x) { return {{x, x, x}}; }
    void store(double *p) const { std::memcpy(p, v, sizeof v); }
    friend Lanes operator+(Lanes a, Lanes b) { return {{a.v[0] + b.v[0], a.v[1] + b.v[1], a.v[2] + b.v[2]}}; }
    friend Lanes operator-(Lanes a, Lanes b) { return {{a.v[0] - b.v[0], a.v[1] - b.v[1], a.v[2] - b.v[2]}}; }
    friend Lanes operator*(Lanes a, Lanes b) { return {{a.v[0] * b.v[0], a.v[1] * b.v[1], a.v[2] * b.v[2]}}; }
    friend Lanes operator/(Lanes a, Lanes b) { return {{a.v[0] / b.v[0], a.v[1] / b.v[1], a.v[2] / b.v[2]}}; }
    Lanes at_least_zero() const { return {{v[0] > 0 ? v[0] : 0, v[1] > 0 ? v[1] : 0, v[2] > 0 ? v[2] : 0}}; }
};

}  // namespace tanager::scoring
