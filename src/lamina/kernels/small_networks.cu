// What a captured update does beside large products, each as one kernel: take a batch, judge it, change the parameters;
// and the dense and convolutional layers of small networks, for which the libraries choose slow kernels.
//
// Every sum is made in a fixed order, so that each run gives the same bits. Sizes are arguments.

#include "numbers.cu"
#include "random.cu"
#include "block.cu"
typedef unsigned char Byte;

constexpr int kThreads = 256;

__device__ float4 four(const float* aligned) { return *(const float4*)aligned; }

// ---------------------------------------------------------------------------------------------------------------------
// A batch: example order[cursor + b] of all pictures, changed at random as `data.augment` says, normalized. One block an
// example.

__device__ int reflect(int place, int size) { return (size - 1) - abs((size - 1) - abs(place)); }

extern "C" __global__ void take_pictures(
    const Byte* pictures, const Int* targets, const Int* order, const Int* cursor, const Int* count, const float* factor,
    const float* shift, float* inputs, Int* labels, int length, int channels, int height, int width, int seed, int crop,
    int translate, int flip, int cutout) {
  __shared__ int down, across, mirrored, top, left;
  const int b = blockIdx.x, pixels = height * width;
  const Int example = order[min(*cursor + b, (Int)length - 1)];
  if (threadIdx.x == 0) {
    const Word s = (Word)seed, c = (Word)*count;
    const int reach = crop + translate;  // one of them is 0
    mirrored = flip && uniform(key_of(s, 0x41554700u, c), b) < 0.5f;
    down = reach ? (int)(uniform(key_of(s, 0x41554701u, c), b) * (float)(2 * reach + 1)) - reach : 0;
    across = reach ? (int)(uniform(key_of(s, 0x41554702u, c), b) * (float)(2 * reach + 1)) - reach : 0;
    top = cutout ? (int)(uniform(key_of(s, 0x41554703u, c), b) * (float)height) - cutout / 2 : 0;
    left = cutout ? (int)(uniform(key_of(s, 0x41554704u, c), b) * (float)width) - cutout / 2 : 0;
    labels[b] = targets[example];
  }
  __syncthreads();
  const Byte* from = pictures + example * channels * pixels;
  float* to = inputs + (Int)b * channels * pixels;
  for (int j = threadIdx.x; j < channels * pixels; j += blockDim.x) {
    const int channel = j / pixels, row = j % pixels / width, column = j % width;
    int y = row + down, x = column + across;
    bool kept = !translate || (y >= 0 && y < height && x >= 0 && x < width);
    y = reflect(y, height);
    x = reflect(x, width);
    if (mirrored) x = width - 1 - x;
    if (cutout) kept = kept && !(row >= top && row < top + cutout && column >= left && column < left + cutout);
    const float value = kept ? (float)from[channel * pixels + y * width + x] : 0.0f;
    to[j] = __fadd_rn(__fmul_rn(value, factor[channel]), shift[channel]);  // rounded twice, as torch does
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// The judgement of a batch: negative log likelihood from logits, its gradient, the number of right answers; and what
// counts updates: sums, the latch for losses that are not finite, the place in the order, the learning rate. One block.

extern "C" __global__ void judge(
    const float* logits, const Int* labels, float* gradient, double* loss_sum, double* score_sum, double* ever, Int* good,
    Int* cursor, Int* count, float* steps, float* rate, const float* rates, int rows, int classes, int parameters,
    int updates, double smoothing) {
  __shared__ double shared[kThreads];
  double loss = 0;
  int right = 0;
  const float share = (float)(smoothing / classes), right_share = (float)(1 - smoothing);
  for (int b = threadIdx.x; b < rows; b += kThreads) {
    const float* z = logits + b * classes;
    const int label = (int)labels[b];
    float largest = z[0];
    int guess = 0;
    for (int k = 1; k < classes; ++k)
      if (z[k] > largest) largest = z[k], guess = k;
    float total = 0;
    for (int k = 0; k < classes; ++k) total += expf(z[k] - largest);
    const float log_total = logf(total);
    for (int k = 0; k < classes; ++k)
      gradient[b * classes + k] = (expf(z[k] - largest - log_total) - (k == label ? right_share : 0.0f) - share) / rows;
    loss += (double)(right_share * (log_total - (z[label] - largest)));
    if (smoothing > 0)
      for (int k = 0; k < classes; ++k) loss += (double)(share * (log_total - (z[k] - largest)));
    right += guess == label;
  }
  loss = sum_of_block(loss, shared);
  const double rights = sum_of_block(right, shared);
  for (int i = threadIdx.x; i < parameters; i += kThreads) steps[i] += 1;
  if (threadIdx.x == 0) {
    *loss_sum += loss;
    *score_sum += rights;
    *ever += loss / rows;
    *good += isfinite(*ever) ? 1 : 0;
    *rate = rates[min(*count, (Int)updates - 1)];
    *cursor += rows;
    *count += 1;
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Adam for many tensors. `kThreads` entries a block; the blocks of a tensor begin at its `first`.

constexpr int kTensors = 64;

struct Tensors {
  float* theta[kTensors];
  const float* gradient[kTensors];
  float* moment1[kTensors];
  float* moment2[kTensors];
  const float* step[kTensors];
  int size[kTensors];
  int first[kTensors];
  int count;
};

extern "C" __global__ void adam(Tensors all, const float* rate, double beta1, double beta2, double eps,
                                double decay) {
  __shared__ float shared[3];
  int t = 0;
  while (t + 1 < all.count && all.first[t + 1] <= (int)blockIdx.x) ++t;
  if (threadIdx.x == 0) {
    const double step = *all.step[t];
    shared[0] = (float)((double)*rate / (1 - pow(beta1, step)));
    shared[1] = (float)sqrt(1 - pow(beta2, step));
    shared[2] = (float)(1 - (double)*rate * decay);
  }
  __syncthreads();
  const int i = ((int)blockIdx.x - all.first[t]) * kThreads + threadIdx.x;
  if (i >= all.size[t]) return;
  const float g = all.gradient[t][i];
  const float m1 = all.moment1[t][i], m2 = all.moment2[t][i];
  const float new1 = m1 + (float)(1 - beta1) * (g - m1);
  const float new2 = (float)beta2 * m2 + (float)(1 - beta2) * g * g;
  all.moment1[t][i] = new1;
  all.moment2[t][i] = new2;
  const float kept = all.theta[t][i] * shared[2];
  all.theta[t][i] = kept - shared[0] * new1 / (sqrtf(new2) / shared[1] + (float)eps);
}

// ---------------------------------------------------------------------------------------------------------------------
// A small product C = A B + bias, for any strides: entry (m, k) of A lies at m * am + k * ak, entry (k, n) of B at
// k * bk + n * bn. A block makes 16 x 16 entries; its 16 groups of 16 threads share the inner dimension, each thread
// makes 4 x 4 entries. With `row_sums`, those of A too.

constexpr int kTile = 16, kChunk = 256, kRow = 20, kGroups = 16;

extern "C" __global__ void product(
    const float* A, const float* B, const float* bias, float* C, float* row_sums, int M, int N, int K, int am, int ak,
    int bk, int bn) {
  __shared__ __align__(16) float a[kChunk * kRow];
  __shared__ __align__(16) float b[kChunk * kRow];
  const int m0 = blockIdx.y * kTile, n0 = blockIdx.x * kTile, t = threadIdx.x;
  const int group = t / 16, y = t % 16 / 4 * 4, x = t % 4 * 4;
  float sums[4][4] = {}, next_a[kTile], next_b[kTile], row_sum = 0;

  // Threads that follow each other read what lies side by side.
  auto load = [&](int start) {
#pragma unroll
    for (int r = 0; r < kTile; ++r) {
      const int k_a = ak == 1 ? t : r * 16 + t / 16, m = ak == 1 ? r : t % 16;
      const int k_b = bk == 1 ? t : r * 16 + t / 16, n = bk == 1 ? r : t % 16;
      next_a[r] = start + k_a < K && m0 + m < M ? A[(Int)(m0 + m) * am + (Int)(start + k_a) * ak] : 0.0f;
      next_b[r] = start + k_b < K && n0 + n < N ? B[(Int)(start + k_b) * bk + (Int)(n0 + n) * bn] : 0.0f;
    }
  };
  load(0);
  for (int start = 0; start < K; start += kChunk) {
#pragma unroll
    for (int r = 0; r < kTile; ++r) {
      a[ak == 1 ? t * kRow + r : (r * 16 + t / 16) * kRow + t % 16] = next_a[r];
      b[bk == 1 ? t * kRow + r : (r * 16 + t / 16) * kRow + t % 16] = next_b[r];
    }
    __syncthreads();
    if (start + kChunk < K) load(start + kChunk);
    const int end = min(kChunk, K - start);
    for (int k = group; k < end; k += kGroups) {
      const float4 u = four(a + k * kRow + y), v = four(b + k * kRow + x);
      const float row[4] = {u.x, u.y, u.z, u.w}, column[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) sums[i][j] += row[i] * column[j];
    }
    if (row_sums && blockIdx.x == 0 && t < kTile)
      for (int k = 0; k < end; ++k) row_sum += a[k * kRow + t];
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) a[(group * kTile + y + i) * kTile + x + j] = sums[i][j];
  __syncthreads();
  const int m = m0 + t / kTile, n = n0 + t % kTile;
  float sum = 0;
  for (int g = 0; g < kGroups; ++g) sum += a[g * kTile * kTile + t];
  if (m < M && n < N) C[(Int)m * N + n] = sum + (bias ? bias[n] : 0.0f);
  if (row_sums && blockIdx.x == 0 && t < kTile && m0 + t < M) row_sums[m0 + t] = row_sum;
}

// ---------------------------------------------------------------------------------------------------------------------
// Convolutions of pictures with few channels, stride 1. A block takes one picture and 8 output channels into shared
// memory; a thread makes two pixels of all 8. `splits` groups of threads share the rows of the kernels where there are
// few pixels. With `transposed` the weights are read as the gradient with respect to the input needs them: channels
// exchanged, turned by 180 degrees.

constexpr int kOut = 8, kSums = 2 * kOut + 1;

__device__ void add_products(float* sums, float u, const float* aligned) {
  const float4 first = four(aligned), second = four(aligned + 4);
  sums[0] += u * first.x, sums[1] += u * first.y, sums[2] += u * first.z, sums[3] += u * first.w;
  sums[4] += u * second.x, sums[5] += u * second.y, sums[6] += u * second.z, sums[7] += u * second.w;
}

__device__ void load_picture(
    float* to, const float* pictures, int b, int channels, int height, int width, int padding, int row_length) {
  const int rows = height + 2 * padding;
  for (int at = threadIdx.x; at < channels * rows * row_length; at += blockDim.x) {
    const int y = at / row_length % rows - padding, x = at % row_length - padding, c = at / (row_length * rows);
    const bool inside = y >= 0 && y < height && x >= 0 && x < width;
    to[at] = inside ? pictures[((Int)(b * channels + c) * height + y) * width + x] : 0.0f;
  }
}

extern "C" __global__ void convolve(
    const float* pictures, const float* weight, const float* bias, float* maps, int channels, int height, int width,
    int outputs, int size, int padding, int out_height, int out_width, int transposed, int splits) {
  extern __shared__ float shared[];
  const int row_length = width + 2 * padding, map = (height + 2 * padding) * row_length;
  const int rows = channels * size, area = size * size, plane = out_height * out_width;
  const int b = blockIdx.x, o0 = blockIdx.y * kOut, lanes = blockDim.x / splits;
  const int lane = threadIdx.x % lanes, split = threadIdx.x / lanes, half = (plane + 1) / 2;
  float* picture = shared;                                     // [channel][row][column], with its border of zeros
  float* weights = shared + (channels * map + 3) / 4 * 4;      // [channel][row][column][kOut]
  load_picture(picture, pictures, b, channels, height, width, padding, row_length);
  for (int i = threadIdx.x; i < rows * size * kOut; i += blockDim.x) {
    const int tap = i / kOut, o = o0 + i % kOut, c = tap / area, at = tap % area;
    const int place = transposed ? (c * outputs + o) * area + area - 1 - at : (o * channels + c) * area + at;
    weights[i] = o < outputs ? weight[place] : 0.0f;
  }
  __syncthreads();
  for (int start = 0; start < half; start += lanes) {
    const int first = start + lane, second = min(first + half, plane - 1);
    float sums[2 * kOut] = {};
    if (first < half) {
      const float* u = picture + first / out_width * row_length + first % out_width;
      const float* v = picture + second / out_width * row_length + second % out_width;
      for (int row = split; row < rows; row += splits) {
        const int offset = row / size * map + row % size * row_length;
#pragma unroll 5
        for (int j = 0; j < size; ++j) {
          const float* w = weights + (row * size + j) * kOut;
          add_products(sums, u[offset + j], w);
          add_products(sums + kOut, v[offset + j], w);
        }
      }
    }
    if (splits > 1) {  // then all pixels are made at once, and the pictures are not needed any more
      __syncthreads();
#pragma unroll
      for (int k = 0; k < 2 * kOut; ++k) shared[threadIdx.x * kSums + k] = sums[k];
      __syncthreads();
    }
#pragma unroll
    for (int k = 0; k < 2 * kOut; ++k) {
      const int o = o0 + k % kOut, pixel = k < kOut ? first : first + half;
      if (k % splits != split || first >= half || o >= outputs || pixel >= plane) continue;
      float sum = sums[k];
      if (splits > 1) {
        sum = 0;
        for (int s = 0; s < splits; ++s) sum += shared[(s * lanes + lane) * kSums + k];
      }
      maps[((Int)b * outputs + o) * plane + pixel] = sum + (bias ? bias[o] : 0.0f);
    }
  }
}

// The gradient with respect to the weights, one part for every block; a last tap that is always 1 gives that of the
// bias. `sum_parts` adds the parts. Threads: taps x splits of the rows, each for 8 output channels.

extern "C" __global__ void convolve_weights(
    const float* pictures, const float* gradient, float* parts, int count, int channels, int height, int width,
    int outputs, int size, int padding, int out_height, int out_width, int splits) {
  extern __shared__ float shared[];
  const int area = size * size, taps = channels * area + 1, plane = out_height * out_width;
  const int row_length = (width + 2 * padding) | 1, map = (height + 2 * padding) * row_length;  // odd: other banks
  const int o0 = blockIdx.y * kOut, tap = threadIdx.x % taps, split = threadIdx.x / taps;
  float* picture = shared;                                     // [channel][row][column], with its border of zeros
  float* slope = shared + (channels * map + 3) / 4 * 4;        // [pixel][kOut]
  const float* corner = picture + tap / area * map + tap % area / size * row_length + tap % size;
  float sums[kOut] = {};
  for (int b = blockIdx.x; b < count; b += gridDim.x) {
    load_picture(picture, pictures, b, channels, height, width, padding, row_length);
    for (int at = threadIdx.x; at < plane * kOut; at += blockDim.x) {
      const int o = at / plane, pixel = at % plane;
      slope[pixel * kOut + o] = o0 + o < outputs ? gradient[((Int)b * outputs + o0 + o) * plane + pixel] : 0.0f;
    }
    __syncthreads();
    for (int y = split; y < out_height && split < splits; y += splits) {
#pragma unroll 4
      for (int x = 0; x < out_width; ++x)
        add_products(
            sums, tap == taps - 1 ? 1.0f : corner[y * row_length + x], slope + (y * out_width + x) * kOut);
    }
    __syncthreads();
  }
  for (int o = 0; o < kOut && split < splits; ++o) shared[(split * kOut + o) * taps + tap] = sums[o];
  __syncthreads();
  for (int at = threadIdx.x; at < taps * kOut; at += blockDim.x) {
    float sum = 0;
    for (int s = 0; s < splits; ++s) sum += shared[s * kOut * taps + at];
    const int o = o0 + at / taps, place = at % taps;
    if (o < outputs) parts[((Int)blockIdx.x * outputs + o) * taps + place] = sum;
  }
}

extern "C" __global__ void sum_parts(
    const float* parts, float* weight, float* bias, int blocks, int outputs, int taps) {
  __shared__ float shared[kThreads];
  const int size = outputs * taps, lane = threadIdx.x % 32, share = threadIdx.x / 32;  // 32 entries, 8 shares a block
  const int at = blockIdx.x * 32 + lane;
  float sum = 0;
  if (at < size)
    for (int block = share; block < blocks; block += kThreads / 32) sum += parts[(Int)block * size + at];
  shared[threadIdx.x] = sum;
  __syncthreads();
  if (share == 0 && at < size) {
    for (int s = 1; s < kThreads / 32; ++s) sum += shared[s * 32 + lane];
    const int o = at / taps, tap = at % taps;
    if (tap < taps - 1)
      weight[o * (taps - 1) + tap] = sum;
    else if (bias)
      bias[o] = sum;
  }
}
