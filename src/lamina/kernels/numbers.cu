// The numbers of the kernels of this package, for the CPU and for CUDA: DOUBLE is 0 for float, 1 for double.

#ifndef NUMBERS
#define NUMBERS

#if DOUBLE
typedef double Real;
#else
typedef float Real;
#endif
typedef long long Int;

#ifdef __CUDACC__
#define INLINE __device__ __forceinline__
INLINE float exp_of(float x) { return expf(x); }
#else
#include <math.h>
#include <string.h>
#define INLINE static inline __attribute__((always_inline))
// e^x for x <= 0 without a call, so that loops become vector code: x = n log 2 + r, a polynomial for e^r.
INLINE float exp_of(float x) {
  x = x < -87.0f ? -87.0f : x;
  const float n = (x * 1.44269504f + 12582912.0f) - 12582912.0f, r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float y = 1.9875691500e-4f;
  y = y * r + 1.3981999507e-3f;
  y = y * r + 8.3334519073e-3f;
  y = y * r + 4.1665795894e-2f;
  y = y * r + 1.6666665459e-1f;
  y = y * r + 5.0000001201e-1f;
  y = y * r * r + r + 1.0f;
  const int bits = ((int)n + 127) << 23;
  float power;
  memcpy(&power, &bits, sizeof power);
  return y * power;
}
#endif
INLINE double exp_of(double x) { return exp(x); }
#endif
