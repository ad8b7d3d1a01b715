// The loops of max pooling by windows of 2x2 with its ReLU, for each set of vector instructions that a CPU may have.
#pragma once

#include <cstdint>

namespace hookrack {

// Which number of a window passed: 0 and 1 in its upper row, 2 and 3 in its lower one, or none, if all are below 0.
constexpr uint8_t NONE = 4;

// A stretch of windows whose outputs are next to each other: the first numbers of the upper and the lower rows, which are `step` apart, and those to
// their right are `right` further.
struct Run {
  int64_t length, step, right;
};

void pool_run(Run run, const float* upper, const float* lower, float* output, uint8_t* which);
void pool_run(Run run, const double* upper, const double* lower, double* output, uint8_t* which);
void unpool_run(Run run, const float* grad, const uint8_t* which, float* upper, float* lower);
void unpool_run(Run run, const double* grad, const uint8_t* which, double* upper, double* lower);

}  // namespace hookrack
