// Dropout of K networks, each with its own rate, seed and counter: the hash of `functional.random` in one pass. The same
// text is compiled as C++ for the CPU and as CUDA C++.
//
// DOUBLE  0 for float, 1 for double
//
// The tensor has three axes, listed from the one whose entries lie closest together. `place` gives what a step along an
// axis adds to the index that the hash reads, `who` what it adds to the number of the member.

#include "numbers.cu"
#include "random.cu"

struct Axes {
  Int size[3], stride[3], place[3], who[3];
};

// A uniform number is float32 and the rate is the tensor's precision: compare as torch does, in the wider of both.
INLINE Real dropped(Real value, Word key, Word index, Real rate, Real rest) {
  return (Real)uniform(key, index) >= rate ? value / rest : (Real)0;
}

#ifdef __CUDACC__

extern "C" __global__ void drop(const Real* from, Real* to, const Real* rates, const int* seeds, const int* counters,
                                Axes axes, int stream) {
  const Int total = axes.size[0] * axes.size[1] * axes.size[2];
  const unsigned inner = (unsigned)axes.size[0], middle = (unsigned)axes.size[1];
  for (Int at = blockIdx.x * (Int)blockDim.x + threadIdx.x; at < total; at += (Int)gridDim.x * blockDim.x) {
    // Divisions of 32 bits are several times as fast.
    const unsigned row = total >> 32 ? (unsigned)(at / inner) : (unsigned)at / inner, i = (unsigned)(at - (Int)row * inner);
    const unsigned l = row / middle, j = row - l * middle;
    const Int k = i * axes.who[0] + j * axes.who[1] + l * axes.who[2];
    const Int offset = i * axes.stride[0] + j * axes.stride[1] + l * axes.stride[2];
    const Word index = (Word)(i * axes.place[0] + j * axes.place[1] + l * axes.place[2]);
    const Word key = key_of(seeds[k], stream, counters[k]);
    to[offset] = dropped(from[offset], key, index, rates[k], 1 - rates[k]);
  }
}

#else

extern "C" void drop(const Real* from, Real* to, const Real* rates, const int* seeds, const int* counters,
                     const Axes* given, int stream) {
  const Axes axes = *given;
#pragma omp parallel for collapse(2) schedule(static) if (axes.size[0] * axes.size[1] * axes.size[2] > 16384)
  for (Int l = 0; l < axes.size[2]; ++l)
    for (Int j = 0; j < axes.size[1]; ++j) {
      const Int row = j * axes.stride[1] + l * axes.stride[2];
      const Word first = (Word)(j * axes.place[1] + l * axes.place[2]), each = (Word)axes.place[0];
      const Real* x = from + row;
      Real* y = to + row;
      const Int k = j * axes.who[1] + l * axes.who[2];
      if (axes.who[0] == 0 && axes.stride[0] == 1) {
        const Word key = key_of(seeds[k], stream, counters[k]);
        const Real rate = rates[k], rest = 1 - rate;
#pragma omp simd
        for (Int i = 0; i < axes.size[0]; ++i) y[i] = dropped(x[i], key, first + (Word)i * each, rate, rest);
        continue;
      }
      for (Int i = 0; i < axes.size[0]; ++i) {
        const Int m = k + i * axes.who[0], at = i * axes.stride[0];
        const Word key = key_of(seeds[m], stream, counters[m]);
        y[at] = dropped(x[at], key, first + (Word)i * each, rates[m], 1 - rates[m]);
      }
    }
}

#endif
