// Panels: products of a few rows by at most two vectors of columns, in an order that the shapes of one network decide.
//
// Every entry of a product is one chain of additions from the first term to the last: how entries are dealt out to tiles,
// threads and calls does not change it, so that a network's bits depend neither on K nor on its place, its neighbors or
// the alignment of its memory. What does not fill a vector is padded with zeros and computed by the same instructions.
//
// DOUBLE  0 for float, 1 for double
// Activations by number: 0 identity, 1 relu, 2 sigmoid, 3 tanh, 4 scaled tanh, 5 leaky relu.

#include "numbers.cu"
#include <stdlib.h>

#if DOUBLE
typedef long long Whole;
#else
typedef int Whole;
#endif

#if defined(__AVX512F__)
#define BYTES 64
#elif defined(__AVX__)
#define BYTES 32
#else
#define BYTES 16
#endif
typedef Real Vec __attribute__((vector_size(BYTES)));
typedef Real Loose __attribute__((vector_size(BYTES), aligned(sizeof(Real)), may_alias));
typedef Whole Wholes __attribute__((vector_size(BYTES)));
enum { kLanes = BYTES / sizeof(Real), kWide = 2 * kLanes };

INLINE Vec load(const Real* from) { return *(const Loose*)from; }
INLINE void store(Real* to, Vec value) { *(Loose*)to = value; }

INLINE Vec load_part(const Real* from, Int count) {
  Vec value = {};
  memcpy(&value, from, count * sizeof(Real));
  return value;
}

INLINE void store_part(Real* to, Vec value, Int count) { memcpy(to, &value, count * sizeof(Real)); }

INLINE Vec all(Real value) { return value - (Vec){}; }

// Add up the lanes by halves.
INLINE Real sum_of(Vec value) {
  for (int half = kLanes / 2; half; half /= 2)
    for (int i = 0; i < half; ++i) value[i] += value[i + half];
  return value[0];
}

// e^x for x <= 0; of floats without a call: x = n log 2 + r, a polynomial for e^r.
INLINE Vec exp_of(Vec x) {
#if DOUBLE
  for (int i = 0; i < kLanes; ++i) x[i] = exp(x[i]);
  return x;
#else
  x = x < -87.0f ? all(-87.0f) : x;
  const Vec n = (x * 1.44269504f + 12582912.0f) - 12582912.0f, r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  Vec y = all(1.9875691500e-4f);
  y = y * r + 1.3981999507e-3f;
  y = y * r + 8.3334519073e-3f;
  y = y * r + 4.1665795894e-2f;
  y = y * r + 1.6666665459e-1f;
  y = y * r + 5.0000001201e-1f;
  y = y * r * r + r + 1.0f;
  return y * (Vec)((__builtin_convertvector(n, Wholes) + 127) << 23);
#endif
}

INLINE Vec tanh_of(Vec x) {
#if DOUBLE
  for (int i = 0; i < kLanes; ++i) x[i] = tanh(x[i]);
  return x;
#else
  const Vec size = x < 0 ? -x : x, e = exp_of(-2 * size), far = (1 - e) / (1 + e), z = x * x;
  Vec near = all(-5.70498872745e-3f);
  near = near * z + 2.06390887954e-2f;
  near = near * z - 5.37397155531e-2f;
  near = near * z + 1.33314422036e-1f;
  near = near * z - 3.33332819422e-1f;
  near = near * z * x + x;
  return size < 0.625f ? near : x < 0 ? -far : far;
#endif
}

INLINE Vec activated(Vec z, int act) {
  switch (act) {
    case 1: return z > 0 ? z : z == z ? (Vec){} : z;
    case 2: {
      const Vec e = exp_of(z < 0 ? z : -z);
      return (z < 0 ? e : all(1)) / (1 + e);
    }
    case 3: return tanh_of(z);
    case 4: return (Real)1.7159 * tanh_of((Real)(2.0 / 3) * z);
    case 5: return z > 0 ? z : (Real)0.1 * z;
    default: return z;
  }
}

// A gradient behind the activation times its derivative, from its value.
INLINE Vec through(Vec g, Vec y, int act) {
  const Real scale = (Real)1.7159;
  switch (act) {
    case 1: return y <= 0 ? (Vec){} : g;
    case 2: return g * (y * (1 - y));
    case 3: return g * (1 - y * y);
    case 4: return g * (scale * 2 / 3 * (1 - y / scale * (y / scale)));
    case 5: return y > 0 ? g : (Real)0.1 * g;
    default: return g;
  }
}

// Memory of one thread that is kept from call to call.
struct Memory {
  void* start = 0;
  size_t size = 0;
  void* get(size_t bytes) {
    if (bytes > size) {
      free(start);
      size = (bytes + 4095) / 4096 * 4096;
      start = aligned_alloc(4096, size);
    }
    return start;
  }
  ~Memory() { free(start); }
};

// What becomes of the sums of a tile: shift and activation, `columns` of them written.
struct Finish {
  const Real* bias;
  int act;
  Real* to;
  Int row;
  Int columns;
};

#define EACH(i, count) _Pragma("GCC unroll 8") for (int i = 0; i < count; ++i)

// Rows `first` to `first + ROWS` of a product: sum over l of a[row][l] b[at[l] + column], l from the first to the last.
template <int ROWS, int VECS>
INLINE void tile(Int first, Int sum, const Real* a, Int a_row, Int a_sum, const Real* b, const Int* at, const Finish& f) {
  Vec d[ROWS][VECS];  // in registers, if all loops over it are unrolled
  EACH(i, ROWS) EACH(v, VECS) d[i][v] = (Vec){};
  a += first * a_row;
  for (Int l = 0; l < sum; ++l) {
    Vec right[VECS];
    EACH(v, VECS) right[v] = load(b + at[l] + v * kLanes);
    EACH(i, ROWS) EACH(v, VECS) d[i][v] += a[i * a_row + l * a_sum] * right[v];
  }
  EACH(i, ROWS) EACH(v, VECS) {
    const Vec y = activated(f.bias ? d[i][v] + f.bias[first + i] : d[i][v], f.act);
    Real* to = f.to + (first + i) * f.row + v * kLanes;
    const Int left = f.columns - v * kLanes;
    if (left >= kLanes)
      store(to, y);
    else if (left > 0)
      store_part(to, y, left);
  }
}

template <int VECS>
static void rows_of(Int rows, Int sum, const Real* a, Int a_row, Int a_sum, const Real* b, const Int* at,
                    const Finish& f) {
  Int i = 0;
  for (; i + 8 <= rows; i += 8) tile<8, VECS>(i, sum, a, a_row, a_sum, b, at, f);
  if (rows - i >= 6) tile<6, VECS>(i, sum, a, a_row, a_sum, b, at, f), i += 6;
  if (rows - i >= 4) tile<4, VECS>(i, sum, a, a_row, a_sum, b, at, f), i += 4;
  if (rows - i >= 2) tile<2, VECS>(i, sum, a, a_row, a_sum, b, at, f), i += 2;
  if (rows - i >= 1) tile<1, VECS>(i, sum, a, a_row, a_sum, b, at, f);
}

// All rows of at most kWide columns.
INLINE void panel_of(Int rows, Int sum, const Real* a, Int a_row, Int a_sum, const Real* b, const Int* at,
                     const Finish& f) {
  if (f.columns > kLanes)
    rows_of<2>(rows, sum, a, a_row, a_sum, b, at, f);
  else
    rows_of<1>(rows, sum, a, a_row, a_sum, b, at, f);
}

typedef Real Four __attribute__((vector_size(4 * sizeof(Real)), aligned(sizeof(Real)), may_alias));
typedef Whole Places __attribute__((vector_size(4 * sizeof(Whole))));

// Copy 4 x 4 entries, turned.
INLINE void turn(const Real* from, Int row, Real* to, Int to_row) {
  const Four a = *(const Four*)from, b = *(const Four*)(from + row), c = *(const Four*)(from + 2 * row),
             d = *(const Four*)(from + 3 * row);
#ifdef __clang__
#define SHUFFLE(x, y, i, j, k, l) __builtin_shufflevector(x, y, i, j, k, l)
#else
#define SHUFFLE(x, y, i, j, k, l) __builtin_shuffle(x, y, (Places){i, j, k, l})
#endif
  const Four p = SHUFFLE(a, b, 0, 4, 1, 5), q = SHUFFLE(c, d, 0, 4, 1, 5);
  const Four r = SHUFFLE(a, b, 2, 6, 3, 7), s = SHUFFLE(c, d, 2, 6, 3, 7);
  *(Four*)to = SHUFFLE(p, q, 0, 1, 4, 5);
  *(Four*)(to + to_row) = SHUFFLE(p, q, 2, 3, 6, 7);
  *(Four*)(to + 2 * to_row) = SHUFFLE(r, s, 0, 1, 4, 5);
  *(Four*)(to + 3 * to_row) = SHUFFLE(r, s, 2, 3, 6, 7);
}

// Lay out `columns` columns of b as [sum][kWide], with zeros behind them.
static void pack(Real* to, const Real* b, Int sum, Int b_sum, Int b_column, Int columns) {
  if (columns < kWide) memset(to, 0, sum * kWide * sizeof(Real));
  if (b_column == 1) {
    for (Int l = 0; l < sum; ++l) memcpy(to + l * kWide, b + l * b_sum, columns * sizeof(Real));
    return;
  }
  Int n = 0;
  if (b_sum == 1)
    for (; n + 4 <= columns; n += 4) {
      Int l = 0;
      for (; l + 4 <= sum; l += 4) turn(b + n * b_column + l, b_column, to + l * kWide + n, kWide);
      for (; l < sum; ++l)
        for (int i = 0; i < 4; ++i) to[l * kWide + n + i] = b[(n + i) * b_column + l];
    }
  for (; n < columns; ++n)
    for (Int l = 0; l < sum; ++l) to[l * kWide + n] = b[l * b_sum + n * b_column];
}

INLINE Int least(Int a, Int b) { return a < b ? a : b; }
