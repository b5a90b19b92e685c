// The judgement of a batch by K networks: negative log likelihood from logits, its gradient, the number of right
// answers, and what counts updates: sums, the latch for losses that are not finite, who is alive. The same text is
// compiled as C++ for the CPU and as CUDA C++.
//
// DOUBLE  0 for float, 1 for double
//
// Logits are read with any strides; the gradient is written as [member][class][batch]. With `smoothing` e, each of C
// classes has e / C of a target and the right one 1 - e more, times the weight of its class.

#include "numbers.cu"

struct Counters {
  double* loss_sum;
  double* score_sum;
  double* ever;  // all losses since the start: not finite once one was
  Int* good;     // updates until then
  const unsigned char* active;
  unsigned char* alive;
};

INLINE float log_of(float x) { return logf(x); }
INLINE double log_of(double x) { return log(x); }

INLINE void count(Int k, double loss, double score, Int batch, const Counters& c) {
  c.loss_sum[k] += loss;
  c.score_sum[k] += score;
  const double ever = c.ever[k] + loss / batch;
  const bool finite = ever - ever == 0;
  c.ever[k] = ever;
  c.good[k] += finite;
  c.alive[k] = c.active[k] && finite;
}

INLINE Real weights_of_all(const Real* weights, Int k, Int wk, Int classes) {
  Real all = 0;
  for (Int c = 0; c < classes; ++c) all += weights ? weights[k * wk + c] : (Real)1;
  return all;
}

#ifdef __CUDACC__

#include "block.cu"

constexpr int kThreads = 128;

// One block a member.
extern "C" __global__ void judge(const Real* z, const Int* targets, const Real* weights, Real* slope, Counters counters,
                                 int batch, int classes, int zb, int zk, int zc, int tb, int tk, int wk,
                                 double smoothing) {
  __shared__ double shared[kThreads];
  const Int k = blockIdx.x;
  double loss = 0, score = 0;
  const Real share = (Real)(smoothing / classes), all = weights_of_all(weights, k, wk, classes);
  for (Int b = threadIdx.x; b < batch; b += kThreads) {
    const Real* row = z + b * zb + k * zk;
    Real* out = slope + k * classes * (Int)batch + b;
    const Int target = targets[b * tb + k * tk];
    const Real weight = (Real)(1 - smoothing) * (weights ? weights[k * wk + target] : (Real)1);
    const Real part = (weight + share * all) / batch;
    Real top = row[0], sum = 0;
    Int guess = 0;
    for (Int c = 1; c < classes; ++c)
      if (row[c * zc] > top) top = row[c * zc], guess = c;
    for (Int c = 0; c < classes; ++c) sum += out[c * batch] = exp_of(row[c * zc] - top);
    for (Int c = 0; c < classes; ++c) out[c * batch] *= part / sum;
    out[target * batch] -= weight / batch;
    loss += weight * (log_of(sum) + top - row[target * zc]);
    score += guess == target;
    if (smoothing > 0)
      for (Int c = 0; c < classes; ++c) {
        const Real spread = share * (weights ? weights[k * wk + c] : (Real)1);
        out[c * batch] -= spread / batch;
        loss += spread * (log_of(sum) + top - row[c * zc]);
      }
  }
  loss = sum_of_block(loss, shared);
  score = sum_of_block(score, shared);
  if (threadIdx.x == 0) count(k, loss, score, batch, counters);
}

#else

enum { kBlock = 64 };

// One member: logits z[b * zb + c * zc], the gradient slope[c * line + b].
INLINE void judge_member(Int k, const Real* z, Int zb, Int zc, const Int* targets, Int tb, const Real* weights,
                         Real* slope, Int line, Int batch, Int classes, double smoothing, const Counters& counters) {
  double loss = 0, score = 0;
  const Real share = (Real)(smoothing / classes), all = weights_of_all(weights, 0, 0, classes);
  for (Int start = 0; start < batch; start += kBlock) {
    const Int size = batch - start < kBlock ? batch - start : (Int)kBlock;
    const Real* rows = z + start * zb;
    Real* out = slope + start;
    Real top[kBlock], sum[kBlock];
    int guess[kBlock];
    for (Int b = 0; b < size; ++b) top[b] = rows[b * zb], sum[b] = 0, guess[b] = 0;
    for (Int c = 1; c < classes; ++c)
      for (Int b = 0; b < size; ++b) {
        const Real value = rows[b * zb + c * zc];
        guess[b] = value > top[b] ? (int)c : guess[b];
        top[b] = value > top[b] ? value : top[b];
      }
    for (Int c = 0; c < classes; ++c)
      for (Int b = 0; b < size; ++b) {
        const Real e = exp_of(rows[b * zb + c * zc] - top[b]);
        out[c * line + b] = e;
        sum[b] += e;
      }
    for (Int b = 0; b < size; ++b) {
      const Int target = targets[(start + b) * tb];
      const Real weight = (Real)(1 - smoothing) * (weights ? weights[target] : (Real)1);
      loss += weight * (log_of(sum[b]) + top[b] - rows[b * zb + target * zc]);
      if (smoothing > 0)
        for (Int c = 0; c < classes; ++c)
          loss += share * (weights ? weights[c] : (Real)1) * (log_of(sum[b]) + top[b] - rows[b * zb + c * zc]);
      score += guess[b] == target;
      sum[b] = (weight + share * all) / (batch * sum[b]);
    }
    for (Int c = 0; c < classes; ++c) {
      const Real spread = share * (weights ? weights[c] : (Real)1) / batch;
      for (Int b = 0; b < size; ++b) out[c * line + b] = out[c * line + b] * sum[b] - spread;
    }
    for (Int b = 0; b < size; ++b) {
      const Int target = targets[(start + b) * tb];
      out[target * line + b] -= (Real)(1 - smoothing) * (weights ? weights[target] : (Real)1) / batch;
    }
  }
  count(k, loss, score, batch, counters);
}

// All members; `zb` is 1 where the batch lies together.
extern "C" void judge(const Real* z, const Int* targets, const Real* weights, Real* slope, const Counters* counters,
                      Int members, Int batch, Int classes, Int zb, Int zk, Int zc, Int tb, Int tk, Int wk,
                      double smoothing) {
#pragma omp parallel for schedule(static) if (members * batch * classes > 8192)
  for (Int k = 0; k < members; ++k)
    judge_member(k, z + k * zk, zb, zc, targets + k * tk, tb, weights ? weights + k * wk : 0, slope + k * classes * batch,
                 batch, batch, classes, smoothing, *counters);
}

#endif
