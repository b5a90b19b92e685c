// One update of K networks of one form, each with its own numbers: penalty, clipping, optimizer, proximal step; members
// that are not alive stay as they are. The same text is compiled as C++ for the CPU and as CUDA C++.
//
// DOUBLE    0 for float, 1 for double
// KIND      0 gradient descent, 1 momentum, 2 Nesterov's momentum, 3 Adam, 4 AdamW, 5 RMSprop
// NORM      0 no penalty in the gradient, 1 or 2 the penalty's norm
// CLIP      0 none, 1 by a factor that the norm decides, 2 value by value
// PROXIMAL  1 if a proximal step of norm 1 follows
//
// Tensors lie as [member][entry]. `numbers` is a table [row][member]; its rows are the fields of Numbers.

#include "numbers.cu"

#define ADAM (KIND == 3 || KIND == 4)
#define SQUARES (KIND >= 3)  // whether there is a second moment

struct Numbers {
  Real rate;       // learning rate; divided by the correction of the first moment for Adam
  Real first;      // momentum; 1 - beta1 for Adam
  Real second;     // beta2
  Real rest;       // 1 - beta2
  Real root;       // the root of the correction of the second moment
  Real eps;
  Real slope;      // 2 lambda for norm 2, lambda for norm 1
  Real threshold;  // rate times pull, for the proximal step
  Real limit;      // of values
  Real decay;      // rate times the decay of the weights, for AdamW
};

INLINE float root_of(float x) { return sqrtf(x); }
INLINE double root_of(double x) { return sqrt(x); }

INLINE Numbers numbers_of(const Real* table, Int member, Int members) {
  Numbers n;
  Real* field = &n.rate;
  for (int row = 0; row < (int)(sizeof(Numbers) / sizeof(Real)); ++row) field[row] = table[row * members + member];
  return n;
}

INLINE Real penalized(Real g, Real p, const Numbers& n) {
  if (NORM == 2) return g + p * n.slope;
  if (NORM == 1) return g + (p > 0 ? n.slope : p < 0 ? -n.slope : p * n.slope);
  return g;
}

INLINE Real clipped(Real g, Real factor, const Numbers& n) {
  if (CLIP == 1) return g * factor;
  if (CLIP == 2) return g > n.limit ? n.limit : g < -n.limit ? -n.limit : g;  // not a number stays what it is
  return g;
}

INLINE Real changed(Real p, Real g, Real& m, Real& v, const Numbers& n) {
  if (KIND == 0) {
    p -= n.rate * g;
  } else if (ADAM) {
    if (KIND == 4) p -= p * n.decay;
    // As torch.lerp does it, which keeps g exactly when the first moment has no memory.
    m = n.first < (Real)0.5 ? m + n.first * (g - m) : g - (g - m) * (1 - n.first);
    v = v * n.second + g * n.rest * g;
    p -= n.rate * m / (root_of(v) / n.root + n.eps);
  } else if (KIND == 5) {
    v = v * n.second + g * n.rest * g;
    m = m * n.first + g / (root_of(v) + n.eps);
    p -= n.rate * m;
  } else {
    m = g + m * n.first;
    p -= n.rate * (KIND == 2 ? g + m * n.first : m);
  }
  if (PROXIMAL) {
    const Real size = (p < 0 ? -p : p) - n.threshold;
    p = size > 0 ? (p < 0 ? -size : size) : p == p ? (Real)0 : p;
  }
  return p;
}

// Write what changes from step to step into the column of one member: `step` updates were made before. `share` is a table
// [step][column] of how much of the learning rate each step takes, for all members or one column a member. `pull` is the
// threshold of the proximal step for a learning rate of 1.
INLINE void fill_column(Int k, Int members, Real* table, const double* rates, const double* share, Int steps, Int columns,
                        Int step, const double* beta1, const double* beta2, const double* pull, const double* decay) {
  const double rate = rates[k] * share[(step < steps ? step : steps - 1) * columns + (columns > 1 ? k : 0)];
  table[k] = (Real)(ADAM ? rate / (1 - pow(beta1[k], (double)(step + 1))) : rate);
  if (ADAM) table[4 * members + k] = (Real)sqrt(1 - pow(beta2[k], (double)(step + 1)));
  if (PROXIMAL) table[7 * members + k] = (Real)(rate * pull[k]);
  if (KIND == 4) table[9 * members + k] = (Real)(rate * decay[k]);
}

#ifdef __CUDACC__
#include "block.cu"

constexpr int kThreads = 256;
constexpr int kEntries = 4;  // of a thread

// Fill the table and count the step.
extern "C" __global__ void fill(Real* table, const double* rates, const double* share, Int* step, const double* beta1,
                                const double* beta2, const double* pull, const double* decay, int members, int steps,
                                int columns) {
  const Int now = *step;  // one block: nobody counts before all have read
  for (int k = threadIdx.x; k < members; k += blockDim.x)
    fill_column(k, members, table, rates, share, steps, columns, now, beta1, beta2, pull, decay);
  __syncthreads();
  if (threadIdx.x == 0) *step = now + 1;
}

// Change one tensor: blocks (entries, members).
extern "C" __global__ void change(Real* p, Real* g, Real* m, Real* v, const Real* table, const Real* factors,
                                  const unsigned char* alive, int size, int members, int measured) {
  const int member = blockIdx.y;
  if (!alive[member]) return;
  const Numbers n = numbers_of(table, member, members);
  const Real factor = CLIP == 1 ? factors[member] : (Real)1;
  const Int base = (Int)member * size;
  const int first = (blockIdx.x * kThreads + threadIdx.x) * kEntries;
  if (sizeof(Real) == 4 && size % kEntries == 0) {
    if (first >= size) return;
    const Int at = (base + first) / kEntries;
    float4 pp = ((float4*)p)[at], gg = ((float4*)g)[at], mm = {}, vv = {};
    if (KIND > 0) mm = ((float4*)m)[at];
    if (SQUARES) vv = ((float4*)v)[at];
    Real* P = (Real*)&pp; Real* G = (Real*)&gg; Real* M = (Real*)&mm; Real* V = (Real*)&vv;
#pragma unroll
    for (int i = 0; i < kEntries; ++i) {
      G[i] = clipped(penalized(G[i], P[i], n), factor, n);
      P[i] = changed(P[i], G[i], M[i], V[i], n);
    }
    ((float4*)p)[at] = pp;
    if (KIND > 0) ((float4*)m)[at] = mm;
    if (SQUARES) ((float4*)v)[at] = vv;
    if (measured) ((float4*)g)[at] = gg;
    return;
  }
  for (int i = first; i < min(first + kEntries, size); ++i) {
    Real none = 0;
    const Real d = clipped(penalized(g[base + i], p[base + i], n), factor, n);
    p[base + i] = changed(p[base + i], d, KIND > 0 ? m[base + i] : none, SQUARES ? v[base + i] : none, n);
    if (measured) g[base + i] = d;
  }
}

// Sum the squares of one tensor's penalized gradients: blocks (parts, members) to parts [part][member].
extern "C" __global__ void squares(const Real* p, const Real* g, const Real* table, double* parts, int size,
                                   int members) {
  __shared__ double shared[kThreads];
  const int member = blockIdx.y;
  const Numbers n = numbers_of(table, member, members);
  const Int base = (Int)member * size;
  double sum = 0;
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < size; i += gridDim.x * kThreads) {
    const double d = penalized(g[base + i], p[base + i], n);
    sum += d * d;
  }
  sum = sum_of_block(sum, shared);
  if (threadIdx.x == 0) parts[(Int)blockIdx.x * members + member] = sum;
}

#else

// Change one member's part of a tensor.
INLINE void change_part(Int size, Real* __restrict__ p, Real* __restrict__ g, Real* __restrict__ m,
                        Real* __restrict__ v, const Numbers& n, Real factor, bool measured) {
  for (Int i = 0; i < size; ++i) {
    Real none = 0;
    const Real d = clipped(penalized(g[i], p[i], n), factor, n);
    p[i] = changed(p[i], d, KIND > 0 ? m[i] : none, SQUARES ? v[i] : none, n);
    if (measured) g[i] = d;
  }
}

// Fill the table and count the step.
extern "C" void fill(Real* table, const double* rates, const double* share, Int* step, const double* beta1,
                     const double* beta2, const double* pull, const double* decay, Int members, Int steps,
                     Int columns) {
  for (Int k = 0; k < members; ++k)
    fill_column(k, members, table, rates, share, steps, columns, *step, beta1, beta2, pull, decay);
  *step += 1;
}

struct Change {
  Int tensors, members;
  const Int* sizes;  // of one member's part of each tensor
  Real *const *p, *const *g, *const *m, *const *v;
  const Real* table;
  const Real* limits;
  const unsigned char* alive;
  Int by_tensor, measured;
};

// Change all tensors of one member.
extern "C" void change_member(const Change* change, Int k) {
  const Change& c = *change;
  if (!c.alive[k]) return;
  const Numbers n = numbers_of(c.table, k, c.members);
  double squares[CLIP == 1 ? 4096 : 1], total = 0;
  if (CLIP == 1) {
    for (Int t = 0; t < c.tensors; ++t) {
      const Int at = k * c.sizes[t];
      double sum = 0;
      for (Int i = 0; i < c.sizes[t]; ++i) {
        const double d = penalized(c.g[t][at + i], c.p[t][at + i], n);
        sum += d * d;
      }
      total += squares[t] = sum;
    }
  }
  for (Int t = 0; t < c.tensors; ++t) {
    const Int at = k * c.sizes[t];
    Real factor = 1;
    if (CLIP == 1) {
      const double share = c.limits[k] / sqrt(c.by_tensor ? squares[t] : total);
      factor = share < 1 || share != share ? (Real)share : (Real)1;
    }
    Real* const moment = KIND > 0 ? c.m[t] + at : c.p[t] + at;
    Real* const square = SQUARES ? c.v[t] + at : c.p[t] + at;
    change_part(c.sizes[t], c.p[t] + at, c.g[t] + at, moment, square, n, factor, c.measured);
  }
}

// Change all members.
extern "C" void change_all(const Change* change, Int threads) {
  Int work = 0;
  for (Int t = 0; t < change->tensors; ++t) work += change->sizes[t];
#pragma omp parallel for schedule(static) num_threads((int)threads) if (work * change->members > 16384)
  for (Int k = 0; k < change->members; ++k) change_member(change, k);
}

#endif
