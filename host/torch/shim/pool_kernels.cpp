// The loops of max pooling by windows of 2x2 with its ReLU, on vectors: eight numbers at a time, or four doubles.
#include "every_cpu.h"
#include "pool_kernels.h"

#include <cstring>

#define INLINE inline __attribute__((always_inline))

// Numbers of two vectors, by their places in both; older compilers have another word for it.
#if defined(__clang__) || __GNUC__ >= 12
#define PICK(V, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define PICK(V, a, b, ...) __builtin_shuffle(a, b, V::Corners{__VA_ARGS__})
#endif

namespace hookrack {
namespace {

// The numbers, and the corner that each of them came from.
struct Floats {
  using Number = float;
  using Numbers = float __attribute__((vector_size(32)));
  using Corners = int32_t __attribute__((vector_size(32)));
  using Bytes = uint8_t __attribute__((vector_size(8)));
  static constexpr int64_t LANES = 8;
  static INLINE Numbers even(Numbers a, Numbers b) { return PICK(Floats, a, b, 0, 2, 4, 6, 8, 10, 12, 14); }
  static INLINE Numbers odd(Numbers a, Numbers b) { return PICK(Floats, a, b, 1, 3, 5, 7, 9, 11, 13, 15); }
  static INLINE Numbers front(Numbers a, Numbers b) { return PICK(Floats, a, b, 0, 8, 1, 9, 2, 10, 3, 11); }
  static INLINE Numbers back(Numbers a, Numbers b) { return PICK(Floats, a, b, 4, 12, 5, 13, 6, 14, 7, 15); }
};

struct Doubles {
  using Number = double;
  using Numbers = double __attribute__((vector_size(32)));
  using Corners = int64_t __attribute__((vector_size(32)));
  using Bytes = uint8_t __attribute__((vector_size(4)));
  static constexpr int64_t LANES = 4;
  static INLINE Numbers even(Numbers a, Numbers b) { return PICK(Doubles, a, b, 0, 2, 4, 6); }
  static INLINE Numbers odd(Numbers a, Numbers b) { return PICK(Doubles, a, b, 1, 3, 5, 7); }
  static INLINE Numbers front(Numbers a, Numbers b) { return PICK(Doubles, a, b, 0, 4, 1, 5); }
  static INLINE Numbers back(Numbers a, Numbers b) { return PICK(Doubles, a, b, 2, 6, 3, 7); }
};

template <class To, class From>
INLINE To load(const From* from) {
  To to;
  std::memcpy(&to, from, sizeof(to));
  return to;
}

template <class From, class To>
INLINE void store(const From& from, To* to) {
  std::memcpy(to, &from, sizeof(from));
}

// The largest number of each window if above 0, and its corner. As in libtorch the first of equal numbers passes, and NaN before any number.
template <class V, class Numbers, class Corners>
INLINE void largest(const Numbers (&window)[4], Numbers& most, Corners& passed) {
  most = window[0];
  passed = Corners{};
  for (int corner = 1; corner < 4; ++corner) {
    const Numbers value = window[corner];
    const Corners larger = (value > most) | (value != value);
    most = larger ? value : most;
    passed = larger ? Corners{} + corner : passed;
  }
  passed = most <= 0 ? Corners{} + NONE : passed;
  most = most < 0 ? Numbers{} : most;
}

// Neighbours are `STEP` apart: 1 in the channels of a pixel, 2 in a row.
template <class V, int STEP>
INLINE void pool_lanes(const typename V::Number* upper, const typename V::Number* lower, int64_t right, typename V::Number* output,
                       uint8_t* which) {
  using Numbers = typename V::Numbers;
  Numbers window[4];
  if constexpr (STEP == 1) {
    window[0] = load<Numbers>(upper), window[1] = load<Numbers>(upper + right);
    window[2] = load<Numbers>(lower), window[3] = load<Numbers>(lower + right);
  } else {
    const auto a = load<Numbers>(upper), b = load<Numbers>(upper + V::LANES);
    const auto c = load<Numbers>(lower), d = load<Numbers>(lower + V::LANES);
    window[0] = V::even(a, b), window[1] = V::odd(a, b), window[2] = V::even(c, d), window[3] = V::odd(c, d);
  }
  Numbers most;
  typename V::Corners passed;
  largest<V>(window, most, passed);
  store(most, output);
  store(__builtin_convertvector(passed, typename V::Bytes), which);
}

template <class V, int STEP>
INLINE void unpool_lanes(const typename V::Number* grad, const uint8_t* which, int64_t right, typename V::Number* upper,
                         typename V::Number* lower) {
  using Numbers = typename V::Numbers;
  const auto value = load<Numbers>(grad);
  const auto passed = __builtin_convertvector(load<typename V::Bytes>(which), typename V::Corners);
  Numbers window[4];
  for (int corner = 0; corner < 4; ++corner) window[corner] = passed == corner ? value : Numbers{};
  if constexpr (STEP == 1) {
    store(window[0], upper), store(window[1], upper + right);
    store(window[2], lower), store(window[3], lower + right);
  } else {
    store(V::front(window[0], window[1]), upper), store(V::back(window[0], window[1]), upper + V::LANES);
    store(V::front(window[2], window[3]), lower), store(V::back(window[2], window[3]), lower + V::LANES);
  }
}

// Calls `body` with the first window of each vector. The last vector overlaps with the one before it, and computes the same again; a run that is
// shorter than a vector is left to `rest`, window by window.
template <class V, class Body, class Rest>
INLINE void each_vector(int64_t length, const Body& body, const Rest& rest) {
  if (length < V::LANES) {
    for (int64_t i = 0; i < length; ++i) rest(i);
    return;
  }
  int64_t i = 0;
  for (; i + V::LANES <= length; i += V::LANES) body(i);
  if (i < length) body(length - V::LANES);
}

// A single window is a vector whose other lanes are not used.
template <class V, int STEP>
INLINE void pool(Run run, const typename V::Number* upper, const typename V::Number* lower, typename V::Number* output, uint8_t* which) {
  each_vector<V>(
      run.length,
      [&](int64_t i) { pool_lanes<V, STEP>(upper + i * STEP, lower + i * STEP, run.right, output + i, which + i); },
      [&](int64_t i) {
        using Numbers = typename V::Numbers;
        const auto *a = upper + i * STEP, *c = lower + i * STEP;
        const Numbers window[4] = {Numbers{} + *a, Numbers{} + a[run.right], Numbers{} + *c, Numbers{} + c[run.right]};
        Numbers most;
        typename V::Corners passed;
        largest<V>(window, most, passed);
        output[i] = most[0];
        which[i] = static_cast<uint8_t>(passed[0]);
      });
}

template <class V, int STEP>
INLINE void unpool(Run run, const typename V::Number* grad, const uint8_t* which, typename V::Number* upper, typename V::Number* lower) {
  each_vector<V>(
      run.length,
      [&](int64_t i) { unpool_lanes<V, STEP>(grad + i, which + i, run.right, upper + i * STEP, lower + i * STEP); },
      [&](int64_t i) {
        typename V::Number* window[4] = {upper + i * STEP, upper + i * STEP + run.right, lower + i * STEP, lower + i * STEP + run.right};
        for (int corner = 0; corner < 4; ++corner) *window[corner] = which[i] == corner ? grad[i] : 0;
      });
}

}  // namespace

FOR_EVERY_CPU void pool_run(Run run, const float* upper, const float* lower, float* output, uint8_t* which) {
  run.step == 1 ? pool<Floats, 1>(run, upper, lower, output, which) : pool<Floats, 2>(run, upper, lower, output, which);
}

FOR_EVERY_CPU void pool_run(Run run, const double* upper, const double* lower, double* output, uint8_t* which) {
  run.step == 1 ? pool<Doubles, 1>(run, upper, lower, output, which) : pool<Doubles, 2>(run, upper, lower, output, which);
}

FOR_EVERY_CPU void unpool_run(Run run, const float* grad, const uint8_t* which, float* upper, float* lower) {
  run.step == 1 ? unpool<Floats, 1>(run, grad, which, upper, lower) : unpool<Floats, 2>(run, grad, which, upper, lower);
}

FOR_EVERY_CPU void unpool_run(Run run, const double* grad, const uint8_t* which, double* upper, double* lower) {
  run.step == 1 ? unpool<Doubles, 1>(run, grad, which, upper, lower) : unpool<Doubles, 2>(run, grad, which, upper, lower);
}

}  // namespace hookrack
