// Convolution, activation and pooling of K small networks, forward and backward, on tensor cores: a warp an image.
//
// An image lies in shared memory and never leaves it between convolution and pooling; the backward pass computes the maps
// again instead of reading them. Products are m16n8k8 steps: rows are filters, columns are pixels, the inner sum runs over
// the entries (channel, row, column) of a kernel. Every sum is made in a fixed order.
//
// C H W O R S STRIDE PAD  sizes: channels, height, width, filters, kernel rows and columns, stride, padding
// ACT      0 identity, 1 relu, 2 sigmoid, 3 tanh, 4 scaled tanh, 5 leaky relu
// POOL     side and stride of the pooling windows, 1 for no pooling;  POOLMAX  1 for the largest, 0 for the mean
// ROWS     pooled rows that are computed at a time;  WARPS  of a block
// DX       1 if the gradient of the inputs is wanted (then ROWS covers the image and STRIDE is 1);  DROWS  its rows at a time
// TAPS     how many tiles of 8 kernel entries a block sums gradients of
// PRECISE  0 products of TF32, 1 products of three TF32 parts, which are as good as float32

typedef long long Int;

constexpr int OH = (H + 2 * PAD - R) / STRIDE + 1, OW = (W + 2 * PAD - S) / STRIDE + 1;
constexpr int PH = OH / POOL, PW = OW / POOL;
constexpr int HP = H + 2 * PAD, WP = W + 2 * PAD;
constexpr int kEntries = C * R * S;               // of a kernel
constexpr int kSteps = (kEntries + 7) / 8;        // of the inner sum
constexpr int kFilterTiles = (O + 15) / 16;
constexpr int kImage = C * HP * WP;
constexpr int kRows = ROWS * POOL;                // of maps, at a time
constexpr int kPixels = kRows * OW;
constexpr int kTiles = (kPixels + 7) / 8;
constexpr int kChunks = (PH + ROWS - 1) / ROWS;
constexpr int kGroup = kTiles < 7 ? kTiles : 7;   // tiles that share a load of the kernels
constexpr int kBorder = DX ? (R - 1) * OW : 0;    // zeros above and below the maps, for the gradient of the inputs
constexpr int kMap = kTiles * 8 + 2 * kBorder + 8;
constexpr int kEntryTiles = (kEntries + 8) / 8;   // with one entry more, the bias
constexpr int kTurned = C * S, kTurnedTiles = (kTurned + 15) / 16, kTurnedSum = O * R;
constexpr int kTurnedSteps = (kTurnedSum + 7) / 8;
constexpr int kTurnedPixels = DROWS * OW, kTurnedGroup = (kTurnedPixels + 7) / 8;
constexpr int kParts = PRECISE ? 2 : 1;           // of a kernel entry
constexpr int kForwardWords = kParts * kFilterTiles * kSteps * 128, kTurnedWords = kParts * kTurnedTiles * kTurnedSteps * 128;
constexpr int kWarpForward = kImage + O * kMap;
constexpr int kWarpBackward = kWarpForward + (DX ? kTurned * kTurnedGroup * 8 : 0);

__device__ __forceinline__ float rounded(float x) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return __uint_as_float(bits);
}

__device__ __forceinline__ float kept(float x) { return PRECISE ? x : rounded(x); }

__device__ __forceinline__ void product(float* d, float4 a, float b0, float b1) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(__float_as_uint(a.x)), "r"(__float_as_uint(a.y)), "r"(__float_as_uint(a.z)), "r"(__float_as_uint(a.w)),
        "r"(__float_as_uint(b0)), "r"(__float_as_uint(b1)));
}

__device__ __forceinline__ float4 rest_of(float4 a, float4 high) {
  return make_float4(rounded(a.x - high.x), rounded(a.y - high.y), rounded(a.z - high.z), rounded(a.w - high.w));
}

// d += a b with a in rounded parts `high` and `low`; b is split here.
__device__ __forceinline__ void multiply(float* d, float4 high, float4 low, float b0, float b1) {
  if (PRECISE) {
    const float h0 = rounded(b0), h1 = rounded(b1);
    product(d, low, h0, h1);
    product(d, high, rounded(b0 - h0), rounded(b1 - h1));
    product(d, high, h0, h1);
  } else {
    product(d, high, b0, b1);
  }
}

__device__ __forceinline__ float activated(float x) {
  if (ACT == 1) return x > 0 ? x : x == x ? 0 : x;
  if (ACT == 2) return 1 / (1 + expf(-x));
  if (ACT == 3) return tanhf(x);
  if (ACT == 4) return 1.7159f * tanhf(2.0f / 3 * x);
  if (ACT == 5) return x > 0 ? x : 0.1f * x;
  return x;
}

// The derivative of the activation from its value.
__device__ __forceinline__ float slope(float y) {
  if (ACT == 1) return y > 0 ? 1 : 0;
  if (ACT == 2) return y * (1 - y);
  if (ACT == 3) return 1 - y * y;
  if (ACT == 4) return 1.7159f * 2 / 3 * (1 - y / 1.7159f * (y / 1.7159f));
  if (ACT == 5) return y > 0 ? 1 : 0.1f;
  return 1;
}

struct Shared {
  float4* kernels;  // fragments of the kernels: [part][tile of filters][step][lane]
  float4* turned;   // of the turned kernels, for the gradient of the inputs
  int* entries;     // where an entry of a kernel finds its pixel: [step][8]
  int* rows;        // where (filter, kernel row) finds its pixel, for the gradient of the inputs
  float* bias;
  float* own;       // of this warp: image, maps, and sums for the gradient of the inputs
};

__device__ __forceinline__ float entry(const float* weight, int filter, int e) {
  return filter < O && e < kEntries ? weight[filter * kEntries + e] : 0;
}

// Entry of the turned kernels: row (channel, kernel column), inner index (filter, kernel row).
__device__ __forceinline__ float turned_entry(const float* weight, int row, int e) {
  if (row >= kTurned || e >= kTurnedSum) return 0;
  return weight[(e / R) * kEntries + (row / S) * R * S + (e % R) * S + row % S];
}

template <bool TURNED>
__device__ void lay_out(float4* to, const float* weight, int tiles, int steps) {
  for (int i = threadIdx.x; i < tiles * steps * 32; i += blockDim.x) {
    const int lane = i % 32, step = i / 32 % steps, tile = i / 32 / steps, g = lane / 4, q = lane % 4;
    float v[4];
    for (int j = 0; j < 4; ++j) {
      const int row = tile * 16 + g + 8 * (j % 2), e = step * 8 + q + 4 * (j / 2);
      v[j] = TURNED ? turned_entry(weight, row, e) : entry(weight, row, e);
    }
    const float4 a = make_float4(v[0], v[1], v[2], v[3]);
    const float4 high = make_float4(rounded(v[0]), rounded(v[1]), rounded(v[2]), rounded(v[3]));
    to[i] = high;
    if (PRECISE) to[tiles * steps * 32 + i] = rest_of(a, high);
  }
}

__device__ Shared prepare(float* memory, const float* weight, const float* bias, bool backward) {
  Shared s;
  s.kernels = (float4*)memory;
  memory += kForwardWords;
  s.turned = (float4*)memory;
  if (DX && backward) memory += kTurnedWords;
  s.entries = (int*)memory;
  memory += kSteps * 8 + 8;
  s.rows = (int*)memory;
  if (DX && backward) memory += kTurnedSteps * 8;
  s.bias = memory;
  memory += O;
  s.own = memory + threadIdx.x / 32 * (backward ? kWarpBackward : kWarpForward);
  lay_out<false>(s.kernels, weight, kFilterTiles, kSteps);
  if (DX && backward) lay_out<true>(s.turned, weight, kTurnedTiles, kTurnedSteps);
  for (int e = threadIdx.x; e < kSteps * 8 + 8; e += blockDim.x)
    s.entries[e] = e < kEntries ? e / (R * S) * HP * WP + e / S % R * WP + e % S : 0;
  if (DX && backward)
    for (int e = threadIdx.x; e < kTurnedSteps * 8; e += blockDim.x)
      s.rows[e] = e < kTurnedSum ? e / R * kMap + (PAD + R - 1 - e % R) * OW : 0;
  for (int o = threadIdx.x; o < O; o += blockDim.x) s.bias[o] = bias ? bias[o] : 0;
  for (int i = threadIdx.x % 32; i < (backward ? kWarpBackward : kWarpForward); i += 32) s.own[i] = 0;
  __syncthreads();
  return s;
}

__device__ __forceinline__ void load_image(float* image, const float* from, int lane) {
  for (int i = lane; i < C * H * W; i += 32) {
    const int at = PAD == 0 ? i : i / (H * W) * HP * WP + (i / W % H + PAD) * WP + i % W + PAD;
    image[at] = kept(from[i]);
  }
}

// Where pixel p of a chunk begins in the image; pixels behind the last row read the first one.
__device__ __forceinline__ int pixel(int chunk, int p) {
  const int row = chunk * kRows + p / OW;
  return p < kPixels && row < PH * POOL ? (row * WP + p % OW) * STRIDE : 0;
}

// Convolve and activate the rows of one chunk: values [filter][pixel].
__device__ void compute_values(const Shared& s, const float* image, float* values, int chunk, int lane) {
  const int g = lane / 4, q = lane % 4;
  for (int tile = 0; tile < kFilterTiles; ++tile)
    for (int first = 0; first < kTiles; first += kGroup) {
      float d[kGroup][4];
      int at[kGroup];
#pragma unroll
      for (int j = 0; j < kGroup; ++j) {
        d[j][0] = d[j][1] = d[j][2] = d[j][3] = 0;
        at[j] = pixel(chunk, (first + j) * 8 + g);
      }
#pragma unroll 4
      for (int step = 0; step < kSteps; ++step) {
        const float4 high = s.kernels[(tile * kSteps + step) * 32 + lane];
        const float4 low = PRECISE ? s.kernels[((kFilterTiles + tile) * kSteps + step) * 32 + lane] : high;
        const int e0 = s.entries[step * 8 + q], e1 = s.entries[step * 8 + q + 4];
#pragma unroll
        for (int j = 0; j < kGroup; ++j) multiply(d[j], high, low, image[at[j] + e0], image[at[j] + e1]);
      }
#pragma unroll
      for (int j = 0; j < kGroup; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int o = tile * 16 + g + 8 * (i / 2), p = (first + j) * 8 + 2 * q + i % 2;
          if (o < O && p < kPixels) values[o * kMap + kBorder + p] = activated(d[j][i] + s.bias[o]);
        }
    }
}

// Forward: blocks (parts, members). Outputs lie as [member][image][filter][row][column].
extern "C" __global__ void forward(const float* x, const float* weight, const float* bias, float* out, int x_member,
                                   int x_image, int batch) {
  extern __shared__ float4 memory[];
  const int k = blockIdx.y, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const Shared s = prepare((float*)memory, weight + (Int)k * O * kEntries, bias ? bias + (Int)k * O : bias, false);
  float* image = s.own;
  float* values = image + kImage;
  for (int b = blockIdx.x * WARPS + warp; b < batch; b += gridDim.x * WARPS) {
    load_image(image, x + (Int)k * x_member + (Int)b * x_image, lane);
    __syncwarp();
    float* to = out + ((Int)k * batch + b) * O * PH * PW;
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      compute_values(s, image, values, chunk, lane);
      __syncwarp();
      for (int i = lane; i < O * ROWS * PW; i += 32) {
        const int o = i / (ROWS * PW), row = i / PW % ROWS, column = i % PW;
        if (chunk * ROWS + row >= PH) continue;
        const float* window = values + o * kMap + kBorder + row * POOL * OW + column * POOL;
        float y = window[0];
        for (int j = 1; j < POOL * POOL; ++j) {
          const float other = window[j / POOL * OW + j % POOL];
          if (POOLMAX)
            y = other > y || other != other ? other : y;
          else
            y += other;
        }
        to[(o * PH + chunk * ROWS + row) * PW + column] = POOLMAX ? y : y / (POOL * POOL);
      }
      __syncwarp();
    }
  }
}

// Turn the values of a chunk into the gradients of the sums before the activation.
__device__ void differentiate(float* values, const float* grad, int chunk, int lane) {
  for (int i = lane; i < O * ROWS * PW; i += 32) {
    const int o = i / (ROWS * PW), row = i / PW % ROWS, column = i % PW;
    float* window = values + o * kMap + kBorder + row * POOL * OW + column * POOL;
    const bool inside = chunk * ROWS + row < PH;
    const float g = inside ? grad[(o * PH + chunk * ROWS + row) * PW + column] : 0;
    int chosen = 0;
    if (POOLMAX)
      for (int j = 1; j < POOL * POOL; ++j) {
        const float y = window[j / POOL * OW + j % POOL];
        if (y > window[chosen / POOL * OW + chosen % POOL] || y != y) chosen = j;
      }
#pragma unroll
    for (int j = 0; j < POOL * POOL; ++j) {
      float* y = window + j / POOL * OW + j % POOL;
      const float share = POOLMAX ? (j == chosen ? g : 0) : g / (POOL * POOL);
      *y = inside ? kept(share * slope(*y)) : 0;
    }
  }
  if (OW > PW * POOL)
    for (int i = lane; i < O * kRows; i += 32)
      for (int column = PW * POOL; column < OW; ++column) values[i / kRows * kMap + kBorder + i % kRows * OW + column] = 0;
}

// Sum the gradients of kernels and bias over the pixels of a chunk, for one tile of filters and TAPS tiles of entries.
__device__ __forceinline__ void sum_kernels(float (&d)[TAPS][4], const Shared& s, const float* image, const float* values,
                                            int chunk, int tile, int first, int lane) {
  const int g = lane / 4, q = lane % 4;
  const bool upper = tile * 16 + g < O, lower = tile * 16 + g + 8 < O;
  const float* row = values + (tile * 16 + g) * kMap + kBorder;
  int at[TAPS];
#pragma unroll
  for (int j = 0; j < TAPS; ++j) at[j] = (first + j) * 8 + g < kEntries ? s.entries[(first + j) * 8 + g] : -1;
  for (int step = 0; step < kTiles; ++step) {
    const int p = step * 8 + q;
    float4 a = make_float4(upper ? row[p] : 0, lower ? row[8 * kMap + p] : 0, upper ? row[p + 4] : 0,
                           lower ? row[8 * kMap + p + 4] : 0), low = a;
    if (PRECISE) {
      const float4 high = make_float4(rounded(a.x), rounded(a.y), rounded(a.z), rounded(a.w));
      low = rest_of(a, high);
      a = high;
    }
    const int p0 = pixel(chunk, p), p1 = pixel(chunk, p + 4);
#pragma unroll
    for (int j = 0; j < TAPS; ++j) {
      const bool real = at[j] >= 0;  // behind the entries comes the bias, whose pixel is 1
      multiply(d[j], a, low, real ? image[at[j] + p0] : 1, real ? image[at[j] + p1] : 1);
    }
  }
}

// The gradient of an image: first along kernel rows and filters, then along kernel columns.
__device__ void image_gradient(const Shared& s, const float* values, float* sums, float* to, int lane) {
  const int g = lane / 4, q = lane % 4;
  for (int top = 0; top < H; top += DROWS) {
    for (int tile = 0; tile < kTurnedTiles; ++tile) {
      float d[kTurnedGroup][4];
#pragma unroll
      for (int j = 0; j < kTurnedGroup; ++j) d[j][0] = d[j][1] = d[j][2] = d[j][3] = 0;
#pragma unroll 2
      for (int step = 0; step < kTurnedSteps; ++step) {
        const float4 high = s.turned[(tile * kTurnedSteps + step) * 32 + lane];
        const float4 low = PRECISE ? s.turned[((kTurnedTiles + tile) * kTurnedSteps + step) * 32 + lane] : high;
        const float* r0 = values + s.rows[step * 8 + q] + top * OW + g;
        const float* r1 = values + s.rows[step * 8 + q + 4] + top * OW + g;
#pragma unroll
        for (int j = 0; j < kTurnedGroup; ++j) {
          const bool there = top * OW + j * 8 + g < H * OW;  // what lies behind the image belongs to another filter
          multiply(d[j], high, low, there ? r0[j * 8] : 0, there ? r1[j * 8] : 0);
        }
      }
#pragma unroll
      for (int j = 0; j < kTurnedGroup; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int row = tile * 16 + g + 8 * (i / 2);
          if (row < kTurned) sums[row * kTurnedGroup * 8 + j * 8 + 2 * q + i % 2] = d[j][i];
        }
    }
    __syncwarp();
    for (int i = lane; i < C * DROWS * W; i += 32) {
      const int c = i / (DROWS * W), row = i / W % DROWS, column = i % W;
      if (top + row >= H) continue;
      float sum = 0;
#pragma unroll
      for (int e = 0; e < S; ++e) {
        const int from = column + PAD - e;
        if (from >= 0 && from < OW) sum += sums[(c * S + e) * kTurnedGroup * 8 + row * OW + from];
      }
      to[(c * H + top + row) * W + column] = sum;
    }
    __syncwarp();
  }
}

// Add the gradients of one image to those of a warp; write that of the image itself if it is wanted.
__device__ __forceinline__ void add_image(float (&d)[TAPS][4], const Shared& s, float* image, float* values,
                                          const float* from, const float* behind, float* dx, int tile, int first,
                                          int lane) {
  load_image(image, from, lane);
  __syncwarp();
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    if (ACT || POOLMAX) compute_values(s, image, values, chunk, lane);
    __syncwarp();
    differentiate(values, behind, chunk, lane);
    __syncwarp();
    sum_kernels(d, s, image, values, chunk, tile, first, lane);
    __syncwarp();
  }
  if (DX && blockIdx.z == 0) image_gradient(s, values, values + O * kMap, dx, lane);
  __syncwarp();
}

// Backward: blocks (any number, members, tiles of filters times groups of entries). The gradient of the outputs lies as
// they do, that of the images as [member][image][channel][row][column]; `sums` is [part][member][filter][entries and
// bias]. How many parts there are decides the order of all sums; how many blocks share them does not.
extern "C" __global__ void backward(const float* x, const float* weight, const float* bias, const float* grad, float* dx,
                                    float* sums, int x_member, int x_image, int batch, int parts) {
  extern __shared__ float4 memory[];
  const int k = blockIdx.y, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int tile = blockIdx.z % kFilterTiles, first = blockIdx.z / kFilterTiles * TAPS;
  const Shared s = prepare((float*)memory, weight + (Int)k * O * kEntries, bias ? bias + (Int)k * O : bias, true);
  float* image = s.own;
  float* values = image + kImage;
  float* total = s.own + (WARPS - warp) * kWarpBackward;  // behind what the warps own
  for (int part = blockIdx.x; part < parts; part += gridDim.x) {
    float d[TAPS][4];
#pragma unroll
    for (int j = 0; j < TAPS; ++j) d[j][0] = d[j][1] = d[j][2] = d[j][3] = 0;
    for (int b = part * WARPS + warp; b < batch; b += parts * WARPS)
      add_image(d, s, image, values, x + (Int)k * x_member + (Int)b * x_image,
                grad + ((Int)k * batch + b) * O * PH * PW, dx + ((Int)k * batch + b) * C * H * W, tile, first, lane);
    // The warps add up their sums, each beginning with other entries.
    for (int turn = 0; turn < WARPS; ++turn) {
      __syncthreads();
#pragma unroll
      for (int j = 0; j < TAPS; ++j)
        if ((j + WARPS - warp) % WARPS == turn)
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int at = (lane / 4 + 8 * (i / 2)) * (TAPS * 8) + j * 8 + 2 * (lane % 4) + i % 2;
            total[at] = d[j][i] + (turn ? total[at] : 0);
          }
    }
    __syncthreads();
    float* to = sums + ((Int)part * gridDim.y + k) * O * (kEntries + 1);
    for (int i = threadIdx.x; i < 16 * TAPS * 8; i += blockDim.x) {
      const int o = tile * 16 + i / (TAPS * 8), e = first * 8 + i % (TAPS * 8);
      if (o < O && e <= kEntries) to[o * (kEntries + 1) + e] = total[i];
    }
  }
}
