// When answers are as good as each other.
#pragma once

namespace tanager {

// Probabilities, and log-likelihoods, that are closer than this are a tie.
inline constexpr double kSameProbability = 1e-12;

}  // namespace tanager
