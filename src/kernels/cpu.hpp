// Which instruction sets this processor has, and the highest level the kernels may use.
//
// One wheel serves every machine, so nothing is compiled for a fixed processor: the faster functions carry a `target`
// attribute and are called only at the level found (or forced, for tests) here.
#pragma once
#include <atomic>
#include <string>
#include <vector>

namespace tanager {

enum class CpuLevel { plain, avx2, avx512 };

inline std::vector<std::string> cpu_features() {
    std::vector<std::string> found;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("popcnt")) found.emplace_back("popcnt");
    if (__builtin_cpu_supports("avx2")) found.emplace_back("avx2");
    if (__builtin_cpu_supports("avx512f")) found.emplace_back("avx512f");
    if (__builtin_cpu_supports("avx512bw")) found.emplace_back("avx512bw");
    if (__builtin_cpu_supports("avx512vl")) found.emplace_back("avx512vl");
    if (__builtin_cpu_supports("avx512vbmi2")) found.emplace_back("avx512vbmi2");
    if (__builtin_cpu_supports("avx512vpopcntdq")) found.emplace_back("avx512vpopcntdq");
#endif
    return found;
}

// The level the processor allows. AVX-512 without VPOPCNTDQ and VBMI2 gains little over AVX2, so it counts as AVX2.
inline CpuLevel best_cpu_level() {
#if defined(__x86_64__)
    static const CpuLevel best = [] {
        __builtin_cpu_init();
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi2") &&
            __builtin_cpu_supports("avx512vpopcntdq") && __builtin_cpu_supports("popcnt"))
            return CpuLevel::avx512;
        return __builtin_cpu_supports("avx2") ? CpuLevel::avx2 : CpuLevel::plain;
    }();
    return best;
#else
    return CpuLevel::plain;
#endif
}

inline std::atomic<CpuLevel> *&place_of_cpu_level() {
    static std::atomic<CpuLevel> own{best_cpu_level()};
    static std::atomic<CpuLevel> *place = &own;
    return place;
}

inline std::atomic<CpuLevel> &chosen_cpu_level() { return *place_of_cpu_level(); }

// The level of another module, which is from now on ours as well.
inline void use_cpu_level(std::atomic<CpuLevel> *level) { place_of_cpu_level() = level; }

}  // namespace tanager
