// The scan of the notes' GRU (reset before the recurrent product) over all time steps, forward and backward.
//
// One launch runs all steps. The batch is cut into groups of ROWS sequences, the hidden units into parts of COLS; one
// thread block owns one part of one group and keeps its slice of the three recurrent matrices in shared memory for the
// whole scan. In each product the warps cut the inner dimension among themselves, take the left operand straight from
// the L2 cache into tensor core fragments, and add their partial sums through shared memory.
//
// Blocks of a group exchange what they computed through `exchange` in global memory, which has a word for each value at
// each step. All words are kUnwritten at the start and written once, by one store that needs no order among others: a
// reader takes what it needs again until nothing of it is kUnwritten. No flags, no fences, no barriers between blocks;
// but a launch must be cooperative, as blocks wait for each other.
//
// Set from outside: HIDDEN, ROWS (multiple of 16), COLS (multiple of 8), WARPS, BUFFERS (of partial sums: 1 or 2) and
// MODE (0: TF32, 1: float32 as three TF32 products, 2: bfloat16, 3: float16).

typedef unsigned int Word;   // 32 bits of an operand: one float or two values of 16 bits

__device__ constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

constexpr int kThreads = 32 * WARPS;
constexpr int kPack = MODE >= 2 ? 2 : 1;                  // values in a word
constexpr int kBlocks = ceil_div(HIDDEN, 16 * kPack);     // blocks of 16 words along the inner dimension
constexpr int kPerWarp = ceil_div(kBlocks, WARPS);
constexpr int kWords = 16 * kBlocks;                      // words in a row of an exchanged operand
constexpr int kParts = ceil_div(kWords * kPack, COLS);
constexpr int kTilesM = ROWS / 16, kTilesN = COLS / 8;
constexpr int kOutputs = ROWS * COLS;
constexpr int kOwn = ceil_div(kOutputs, kThreads);        // state components of a thread
constexpr int kGate = kTilesN * kBlocks * 32;             // vectors of 4 words in one gate's weights
constexpr Word kUnwritten = 0xffffffffu;                  // a NaN that `publish` never writes
constexpr unsigned kSpinLimit = 1u << 23;                 // some seconds: a lost block must not hang the device

#if MODE >= 2
typedef unsigned short Weight;
#else
typedef float Weight;
#endif

// Nearest TF32 number, ties away from zero; infinities and NaN keep their bits.
__device__ __forceinline__ Word round_tf32(float x) {
    const Word u = __float_as_uint(x);
    return (u & 0x7f800000u) == 0x7f800000u ? u : (u + 0x1000u) & 0xffffe000u;
}

#ifndef EMULATED
__device__ __forceinline__ Word round_16(float x) {
    unsigned short u;
#if MODE == 3
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(u) : "f"(x));
#else
    const Word bits = __float_as_uint(x);
    u = x != x ? 0x7fffu : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
#endif
    return u;
}

__device__ __forceinline__ uint4 load_from_others(const Word* p) {
    uint4 v;
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p) : "memory");
    return v;
}

__device__ __forceinline__ void store_for_others(Word* p, Word v) {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

__device__ __forceinline__ void bring_to_cache(const Word* p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p)); }

__device__ __forceinline__ void mma(float (&d)[4], Word a0, Word a1, Word a2, Word a3, Word b0, Word b1) {
#if MODE == 3
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
#elif MODE == 2
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
#else
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
#endif
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

__device__ __forceinline__ void forget(uint4& v) { asm volatile("" : "+r"(v.x), "+r"(v.y), "+r"(v.z), "+r"(v.w)); }

__device__ __forceinline__ void give_up() { asm volatile("trap;"); }
#endif

// What the tensor core takes: the words as they are, or for float32 hi + lo, both TF32, which is x up to 2^-22 of it.
struct Factor {
    uint4 hi, lo;
};

__device__ __forceinline__ void split(Word x, Word& hi, Word& lo) {
    hi = round_tf32(__uint_as_float(x));
    lo = round_tf32(__uint_as_float(x) - __uint_as_float(hi));
}

__device__ __forceinline__ Factor factor(uint4 x) {
    Factor f;
    f.hi = x;
#if MODE == 1
    forget(x);   // or the compiler keeps the parts of an operand for its next product, and runs out of registers
    split(x.x, f.hi.x, f.lo.x), split(x.y, f.hi.y, f.lo.y), split(x.z, f.hi.z, f.lo.z), split(x.w, f.hi.w, f.lo.w);
#endif
    return f;
}

// Add the product over a block of the inner dimension, with `u` the upper and `l` the lower rows of the left factor.
__device__ __forceinline__ void multiply_add(float (&d)[4], const Factor& u, const Factor& l, const Factor& w) {
#if MODE == 1
    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};   // the tensor core truncates its sums: let them be short
    mma(sum, u.lo.x, l.lo.x, u.lo.y, l.lo.y, w.hi.x, w.hi.y);
    mma(sum, u.lo.z, l.lo.z, u.lo.w, l.lo.w, w.hi.z, w.hi.w);
    mma(sum, u.hi.x, l.hi.x, u.hi.y, l.hi.y, w.lo.x, w.lo.y);
    mma(sum, u.hi.z, l.hi.z, u.hi.w, l.hi.w, w.lo.z, w.lo.w);
    mma(sum, u.hi.x, l.hi.x, u.hi.y, l.hi.y, w.hi.x, w.hi.y);
    mma(sum, u.hi.z, l.hi.z, u.hi.w, l.hi.w, w.hi.z, w.hi.w);
    for (int i = 0; i < 4; ++i) d[i] += sum[i];
#else
    mma(d, u.hi.x, l.hi.x, u.hi.y, l.hi.y, w.hi.x, w.hi.y);
    mma(d, u.hi.z, l.hi.z, u.hi.w, l.hi.w, w.hi.z, w.hi.w);
#endif
}

__device__ __forceinline__ bool has_block(int warp, int k) {
    return kBlocks == WARPS * kPerWarp || warp * kPerWarp + k < kBlocks;
}

// A block of 16 words in a row is read by 4 lanes as one vector each. Both operands are read so, hence the order in
// which the tensor core meets the inner dimension does not matter.
struct Operand {
    uint4 upper[kTilesM][kPerWarp], lower[kTilesM][kPerWarp];
};

__device__ __forceinline__ bool missing(const uint4& v) { return max(max(v.x, v.y), max(v.z, v.w)) == kUnwritten; }

// Read an operand as the other blocks write it: first what tells that each of them is there, then the rest.
__device__ __forceinline__ void collect(Operand& a, const Word* exchange, int warp, int lane) {
    const Word* p = exchange + (lane / 4) * kWords + warp * kPerWarp * 16 + (lane % 4) * 4;
    unsigned spins = 0;
    for (bool again = true; again; ++spins) {
        again = false;
#pragma unroll
        for (int k = 0; k < kPerWarp; ++k)
            if (has_block(warp, k)) a.upper[0][k] = load_from_others(p + 16 * k);
#pragma unroll
        for (int k = 0; k < kPerWarp; ++k)
            if (has_block(warp, k)) again |= missing(a.upper[0][k]);
        again = __any_sync(0xffffffffu, again);
        if (spins > kSpinLimit) give_up();
    }
    for (bool again = true; again; ++spins) {
        again = false;
#pragma unroll
        for (int k = 0; k < kPerWarp; ++k)
            if (has_block(warp, k))
#pragma unroll
                for (int m = 0; m < kTilesM; ++m) {
                    if (m > 0) a.upper[m][k] = load_from_others(p + 16 * m * kWords + 16 * k);
                    a.lower[m][k] = load_from_others(p + (16 * m + 8) * kWords + 16 * k);
                }
#pragma unroll
        for (int k = 0; k < kPerWarp; ++k)
            if (has_block(warp, k))
#pragma unroll
                for (int m = 0; m < kTilesM; ++m) again |= missing(a.lower[m][k]) || (m > 0 && missing(a.upper[m][k]));
        again = __any_sync(0xffffffffu, again);
        if (spins > kSpinLimit) give_up();
    }
}

typedef float Sums[kTilesM][kTilesN][4];

__device__ __forceinline__ void clear(Sums& sums) {
#pragma unroll
    for (int m = 0; m < kTilesM; ++m)
#pragma unroll
        for (int n = 0; n < kTilesN; ++n)
#pragma unroll
            for (int i = 0; i < 4; ++i) sums[m][n][i] = 0.0f;
}

__device__ __forceinline__ void multiply(Sums& sums, const Operand& a, const uint4* weights, int warp, int lane) {
#pragma unroll
    for (int k = 0; k < kPerWarp; ++k)
        if (has_block(warp, k)) {
            Factor upper[kTilesM], lower[kTilesM];
#pragma unroll
            for (int m = 0; m < kTilesM; ++m) upper[m] = factor(a.upper[m][k]), lower[m] = factor(a.lower[m][k]);
#pragma unroll
            for (int n = 0; n < kTilesN; ++n) {
                const Factor w = factor(weights[(n * kBlocks + warp * kPerWarp + k) * 32 + lane]);
#pragma unroll
                for (int m = 0; m < kTilesM; ++m) multiply_add(sums[m][n], upper[m], lower[m], w);
            }
        }
}

// Partial sums of all warps. With two buffers the sums of one product may be read while those of the next are written.
struct Partial {
    float* base;
    int turn;

    __device__ __forceinline__ const float* share(const Sums& sums, int warp, int lane) {
        if (BUFFERS == 1) __syncthreads();
        float* const out = base + (BUFFERS == 2 ? turn * WARPS * kOutputs : 0);
        turn ^= 1;
#pragma unroll
        for (int m = 0; m < kTilesM; ++m)
#pragma unroll
            for (int n = 0; n < kTilesN; ++n)
                reinterpret_cast<float4*>(out)[(warp * kTilesM * kTilesN + m * kTilesN + n) * 32 + lane] =
                    make_float4(sums[m][n][0], sums[m][n][1], sums[m][n][2], sums[m][n][3]);
        __syncthreads();
        return out;
    }
};

__device__ __forceinline__ float total(const float* partial, int output) {
    float sum = 0.0f;
#pragma unroll
    for (int w = 0; w < WARPS; ++w) sum += partial[w * kOutputs + output];
    return sum;
}

// Where the output of index i (in the order of the fragments) lies.
struct Place {
    int row, col, word;   // in the batch, among the hidden units, in an exchanged operand
    bool inside;          // of batch and hidden units
};

__device__ __forceinline__ Place place(int output, int first_row, int part, int batch) {
    const int tile = output / 128, lane = output % 128 / 4, i = output % 4;
    Place p;
    p.row = first_row + tile / kTilesN * 16 + lane / 4 + 8 * (i / 2);
    p.col = part * COLS + tile % kTilesN * 8 + 2 * (lane % 4) + i % 2;
    p.inside = output < kOutputs && p.row < batch && p.col < HIDDEN;
    p.word = output < kOutputs && p.col < kWords * kPack && p.col % kPack == 0 ? p.row * kWords + p.col / kPack : -1;
    return p;
}

// Write one value of an operand that the other blocks will read. All lanes of a warp must call it.
__device__ __forceinline__ void publish(Word* exchange, const Place& p, float x) {
#if MODE >= 2
    const Word low = round_16(x), high = __shfl_xor_sync(0xffffffffu, low, 1);
    if (p.word >= 0) store_for_others(exchange + p.word, high << 16 | low);
#else
    const Word w = MODE == 1 ? __float_as_uint(x) : round_tf32(x);
    if (p.word >= 0) store_for_others(exchange + p.word, x != x ? 0x7fffffffu : w);
#endif
}

// The word of a matrix that begins at inner index k; `stride` leads to the next inner index.
__device__ __forceinline__ Word pack(const float* p, int, int) {
    return MODE == 1 ? __float_as_uint(*p) : round_tf32(*p);
}
__device__ __forceinline__ Word pack(const unsigned short* p, int stride, int k) {
    return p[0] | (k + 1 < HIDDEN ? (Word)p[stride] << 16 : 0u);
}

// Put the three slices into the order of the fragments: column n of a part at inner index k is entry [n, k] of a gate's
// matrix in the forward scan and entry [k, n] in the backward one.
template <bool kTransposed>
__device__ void load_weights(uint4* weights, const Weight* weight, int part) {
    for (int i = threadIdx.x; i < 3 * kGate; i += kThreads) {
        const int lane = i % 32, block = i / 32 % kBlocks, tile = i / 32 / kBlocks % kTilesN, gate = i / kGate;
        const int col = part * COLS + tile * 8 + lane / 4;
        Word w[4];
        for (int j = 0; j < 4; ++j) {
            const int k = (block * 16 + lane % 4 * 4 + j) * kPack;
            const int entry = kTransposed ? k * HIDDEN + col : col * HIDDEN + k;
            const Weight* p = weight + (size_t)gate * HIDDEN * HIDDEN + entry;
            w[j] = k < HIDDEN && col < HIDDEN ? pack(p, kTransposed ? HIDDEN : 1, k) : 0u;
        }
        weights[i] = make_uint4(w[0], w[1], w[2], w[3]);
    }
}

__device__ __forceinline__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

// A thread owns the components `own` of the state in this block's part; some threads may own none.
#define FOR_OWN _Pragma("unroll") for (int e = 0; e < kOwn; ++e)
#define FOR_OWN_OUTPUTS \
    FOR_OWN if (kOutputs % kThreads == 0 || threadIdx.x + e * kThreads < kOutputs)

// h' = z c + (1 - z) h with r = sigmoid(p_r + W_r h), z = sigmoid(p_z + W_z h), c = tanh(p_c + W_c (r h)).
// The product of z is not urgent: it runs while the other blocks finish r.
extern "C" __global__ void __launch_bounds__(kThreads, 1)
gru_forward(const float* __restrict__ pre, const Weight* __restrict__ weight, const float* __restrict__ start,
            const unsigned char* __restrict__ mask, float* __restrict__ states, float* __restrict__ r_out,
            float* __restrict__ z_out, float* __restrict__ c_out, Word* exchange, int time, int batch) {
    extern __shared__ uint4 weights[];
    Partial partial = {reinterpret_cast<float*>(weights + 3 * kGate), 0};
    const int part = blockIdx.x % kParts, group = blockIdx.x / kParts, groups = gridDim.x / kParts;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const size_t slot = (size_t)ceil_div(batch, ROWS) * ROWS * kWords;   // words of one operand at one time
    load_weights<false>(weights, weight, part);
    __syncthreads();

    for (int first_row = group * ROWS; first_row < batch; first_row += groups * ROWS) {
        Place own[kOwn];
        float h[kOwn], p_r[kOwn], p_z[kOwn], p_c[kOwn];
        bool valid[kOwn];
        FOR_OWN {
            own[e] = place(threadIdx.x + e * kThreads, first_row, part, batch);
            h[e] = own[e].inside ? start[(size_t)own[e].row * HIDDEN + own[e].col] : 0.0f;
            if (time > 0) publish(exchange, own[e], h[e]);
        }
        auto fetch = [&](int t) {
            FOR_OWN {
                const bool read = own[e].inside && t < time;
                const float* p = pre + ((size_t)t * batch + own[e].row) * (3 * HIDDEN) + own[e].col;
                p_r[e] = read ? p[0] : 0.0f;
                p_z[e] = read ? p[HIDDEN] : 0.0f;
                p_c[e] = read ? p[2 * HIDDEN] : 0.0f;
                valid[e] = read && (!mask || mask[(size_t)t * batch + own[e].row]);
            }
        };
        fetch(0);

        for (int t = 0; t < time; ++t) {
            Operand a;
            Sums sums;
            float r[kOwn], z[kOwn], c[kOwn], b_z[kOwn], b_c[kOwn];
            bool keep[kOwn];
            const size_t at = (size_t)t * batch;
            Word* const h_now = exchange + 2 * t * slot;   // h and r h of a step, then the next step
            Word* const rh_now = h_now + slot;
            collect(a, h_now + (size_t)first_row * kWords, warp, lane);
            clear(sums);
            multiply(sums, a, weights, warp, lane);
            const float* shared = partial.share(sums, warp, lane);
            FOR_OWN_OUTPUTS {
                r[e] = sigmoid(p_r[e] + total(shared, threadIdx.x + e * kThreads));
                publish(rh_now, own[e], r[e] * h[e]);
            }

            clear(sums);
            multiply(sums, a, weights + kGate, warp, lane);
            FOR_OWN {
                b_z[e] = p_z[e], b_c[e] = p_c[e], keep[e] = !valid[e];
                if (own[e].inside) r_out[(at + own[e].row) * HIDDEN + own[e].col] = keep[e] ? 0.0f : r[e];
                if (own[e].word >= 0 && t + 2 < time) {
                    bring_to_cache(h_now + 4 * slot + own[e].word);
                    bring_to_cache(rh_now + 4 * slot + own[e].word);
                }
            }
            fetch(t + 1);
            shared = partial.share(sums, warp, lane);
            FOR_OWN_OUTPUTS {
                z[e] = sigmoid(b_z[e] + total(shared, threadIdx.x + e * kThreads));
                if (own[e].inside) z_out[(at + own[e].row) * HIDDEN + own[e].col] = keep[e] ? 0.0f : z[e];
            }

            collect(a, rh_now + (size_t)first_row * kWords, warp, lane);
            clear(sums);
            multiply(sums, a, weights + 2 * kGate, warp, lane);
            shared = partial.share(sums, warp, lane);
            FOR_OWN_OUTPUTS {
                c[e] = tanhf(b_c[e] + total(shared, threadIdx.x + e * kThreads));
                if (!keep[e]) h[e] = z[e] * c[e] + (1.0f - z[e]) * h[e];
                if (t + 1 < time) publish(rh_now + slot, own[e], h[e]);
            }
            FOR_OWN if (own[e].inside) {
                states[(at + own[e].row) * HIDDEN + own[e].col] = h[e];
                c_out[(at + own[e].row) * HIDDEN + own[e].col] = keep[e] ? 0.0f : c[e];
            }
        }
    }
}

// With g the gradient of h' and ~ marking the gradient before an activation:
//   c~ = g z (1 - c^2),  z~ = g (c - h) z (1 - z),  q = W_c^T c~,  r~ = q h r (1 - r),
//   g <- g (1 - z) + q r + W_z^T z~ + W_r^T r~ + the gradient that arrives at h directly.
// The product of z~ runs while the other blocks finish r~.
extern "C" __global__ void __launch_bounds__(kThreads, 1)
gru_backward(const float* __restrict__ grad_states, const Weight* __restrict__ weight, const float* __restrict__ start,
             const unsigned char* __restrict__ mask, const float* __restrict__ states, const float* __restrict__ r_in,
             const float* __restrict__ z_in, const float* __restrict__ c_in, float* __restrict__ grad_pre,
             float* __restrict__ grad_start, Word* exchange, int time, int batch) {
    extern __shared__ uint4 weights[];
    Partial partial = {reinterpret_cast<float*>(weights + 3 * kGate), 0};
    const int part = blockIdx.x % kParts, group = blockIdx.x / kParts, groups = gridDim.x / kParts;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const size_t slot = (size_t)ceil_div(batch, ROWS) * ROWS * kWords;
    load_weights<true>(weights, weight, part);
    __syncthreads();

    for (int first_row = group * ROWS; first_row < batch; first_row += groups * ROWS) {
        Place own[kOwn];
        float g[kOwn], d[kOwn], r[kOwn], z[kOwn], c[kOwn], h[kOwn];
        bool valid[kOwn];
        FOR_OWN own[e] = place(threadIdx.x + e * kThreads, first_row, part, batch), g[e] = 0.0f;
        auto fetch = [&](int t) {
            FOR_OWN {
                const bool read = own[e].inside && t >= 0;
                const size_t at = ((size_t)t * batch + own[e].row) * HIDDEN + own[e].col;
                d[e] = read ? grad_states[at] : 0.0f;
                h[e] = !read ? 0.0f : t > 0 ? states[at - (size_t)batch * HIDDEN] : start[at];
                r[e] = read ? r_in[at] : 0.0f;
                z[e] = read ? z_in[at] : 0.0f;
                c[e] = read ? c_in[at] : 0.0f;
                valid[e] = read && (!mask || mask[(size_t)t * batch + own[e].row]);
            }
        };
        fetch(time - 1);

        for (int t = time - 1; t >= 0; --t) {
            Operand a;
            Sums sums;
            float to_c[kOwn], to_z[kOwn], to_r[kOwn];
            Word* const c_now = exchange + 3 * t * slot;
            Word* const z_now = c_now + slot;
            Word* const r_now = z_now + slot;
            FOR_OWN_OUTPUTS {
                g[e] += d[e];
                if (!valid[e]) r[e] = z[e] = c[e] = 0.0f;   // closed gates and no candidate: the state stays
                to_c[e] = g[e] * z[e] * (1.0f - c[e] * c[e]);
                to_z[e] = g[e] * (c[e] - h[e]) * z[e] * (1.0f - z[e]);
                publish(c_now, own[e], to_c[e]);
                publish(z_now, own[e], to_z[e]);
            }
            FOR_OWN {
                if (own[e].inside) {
                    float* out = grad_pre + ((size_t)t * batch + own[e].row) * (3 * HIDDEN) + own[e].col;
                    out[HIDDEN] = to_z[e], out[2 * HIDDEN] = to_c[e];
                }
                if (own[e].word >= 0 && t >= 2)
                    for (int i = 0; i < 3; ++i) bring_to_cache(c_now - (6 - i) * slot + own[e].word);
            }

            collect(a, c_now + (size_t)first_row * kWords, warp, lane);
            clear(sums);
            multiply(sums, a, weights + 2 * kGate, warp, lane);
            const float* shared = partial.share(sums, warp, lane);
            FOR_OWN_OUTPUTS {
                const float q = total(shared, threadIdx.x + e * kThreads);
                to_r[e] = q * h[e] * r[e] * (1.0f - r[e]);
                publish(r_now, own[e], to_r[e]);
                g[e] = g[e] * (1.0f - z[e]) + q * r[e];
            }

            FOR_OWN if (own[e].inside)
                grad_pre[((size_t)t * batch + own[e].row) * (3 * HIDDEN) + own[e].col] = to_r[e];
            fetch(t - 1);
            collect(a, z_now + (size_t)first_row * kWords, warp, lane);
            clear(sums);
            multiply(sums, a, weights + kGate, warp, lane);
            collect(a, r_now + (size_t)first_row * kWords, warp, lane);
            multiply(sums, a, weights, warp, lane);
            shared = partial.share(sums, warp, lane);
            FOR_OWN_OUTPUTS g[e] += total(shared, threadIdx.x + e * kThreads);
        }
        FOR_OWN if (own[e].inside) grad_start[(size_t)own[e].row * HIDDEN + own[e].col] = g[e];
    }
}
