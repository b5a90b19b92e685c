// What K recurrent cells do in one time step beside their products, forward and backward, on CUDA; see `scan.cpp` for the
// CPU.
//
// DOUBLE  0 for float, 1 for double
//
// Values lie as [member][row][batch], the batch together; a gated cell stacks its rows as in `functional.recurrent`.
// Where a sequence is over (`valid` is 0), the state stays as it is and so does the gradient that comes from behind.

#include "numbers.cu"

struct View {
  Real* at;
  Int member, row;
};

struct Step {
  View view[7];
  const unsigned char* valid;  // [member or 1][batch], or null
  Int valid_member;
  Int members, hidden, batch;
  Int activation;  // of a plain cell: 0 tanh, 1 relu, 2 sigmoid
};

INLINE float tanh_of(float x) { return tanhf(x); }
INLINE double tanh_of(double x) { return tanh(x); }
INLINE float sigmoid_of(float x) { return 1 / (1 + expf(-x)); }
INLINE double sigmoid_of(double x) { return 1 / (1 + exp(-x)); }

#define AT(number, index) s.view[number].at[k * s.view[number].member + (index) * s.view[number].row + b]

// z becomes the gates; h and c of the step before become those of this one. Views: z, h, h', c, c'.
INLINE void lstm_forward(const Step& s, Int k, Int j, Int b, bool valid) {
  const Int n = s.hidden;
  const Real f = sigmoid_of(AT(0, j)), i = sigmoid_of(AT(0, n + j)), o = sigmoid_of(AT(0, 2 * n + j));
  const Real g = tanh_of(AT(0, 3 * n + j)), before = AT(3, j);
  const Real c = f * before + i * g, h = o * tanh_of(c);
  AT(0, j) = f;
  AT(0, n + j) = i;
  AT(0, 2 * n + j) = o;
  AT(0, 3 * n + j) = g;
  AT(2, j) = valid ? h : AT(1, j);
  AT(4, j) = valid ? c : before;
}

// Views: gates, dz, dh (in: from behind; out: what passes by), gradient of the output, dc, c, c'.
INLINE void lstm_backward(const Step& s, Int k, Int j, Int b, bool valid) {
  const Int n = s.hidden;
  const Real f = AT(0, j), i = AT(0, n + j), o = AT(0, 2 * n + j), g = AT(0, 3 * n + j);
  const Real dh = AT(2, j) + AT(3, j), t = tanh_of(AT(6, j));
  const Real dc = AT(4, j) + dh * o * (1 - t * t);
  AT(1, j) = valid ? dc * AT(5, j) * f * (1 - f) : 0;
  AT(1, n + j) = valid ? dc * g * i * (1 - i) : 0;
  AT(1, 2 * n + j) = valid ? dh * t * o * (1 - o) : 0;
  AT(1, 3 * n + j) = valid ? dc * i * (1 - g * g) : 0;
  AT(2, j) = valid ? 0 : dh;
  AT(4, j) = valid ? dc * f : AT(4, j);
}

// z becomes the gates r and u; r * h for the candidate's product. Views: z, h, r * h.
INLINE void gru_gates(const Step& s, Int k, Int j, Int b, bool valid) {
  const Real r = sigmoid_of(AT(0, j));
  AT(0, j) = r;
  AT(0, s.hidden + j) = sigmoid_of(AT(0, s.hidden + j));
  AT(2, j) = r * AT(1, j);
}

// Views: gates, h, h', the candidate's sum, which becomes the candidate.
INLINE void gru_forward(const Step& s, Int k, Int j, Int b, bool valid) {
  const Real u = AT(0, s.hidden + j), c = tanh_of(AT(3, j)), h = AT(1, j);
  AT(3, j) = c;
  AT(2, j) = valid ? u * c + (1 - u) * h : h;
}

// Views: gates, h, dh (out: what passes by), gradient of the output, candidate, dz of the gates, dz of the candidate.
INLINE void gru_backward(const Step& s, Int k, Int j, Int b, bool valid) {
  const Real u = AT(0, s.hidden + j), h = AT(1, j), c = AT(4, j), dh = AT(2, j) + AT(3, j);
  AT(5, s.hidden + j) = valid ? dh * (c - h) * u * (1 - u) : 0;
  AT(6, j) = valid ? dh * u * (1 - c * c) : 0;
  AT(2, j) = valid ? dh * (1 - u) : dh;
}

// Views: gates, h, dh, gradient of r * h, dz of the gates.
INLINE void gru_gates_backward(const Step& s, Int k, Int j, Int b, bool valid) {
  const Real r = AT(0, j), d = AT(3, j);
  AT(4, j) = d * AT(1, j) * r * (1 - r);
  AT(2, j) += d * r;
}

// Views: z, h, h'.
INLINE void rnn_forward(const Step& s, Int k, Int j, Int b, bool valid) {
  const Real z = AT(0, j);
  const Real h = s.activation == 0 ? tanh_of(z) : s.activation == 1 ? (z > 0 ? z : z == z ? (Real)0 : z) : sigmoid_of(z);
  AT(2, j) = valid ? h : AT(1, j);
}

// Views: h', dz, dh (out: what passes by), gradient of the output.
INLINE void rnn_backward(const Step& s, Int k, Int j, Int b, bool valid) {
  const Real h = AT(0, j), dh = AT(2, j) + AT(3, j);
  const Real slope = s.activation == 0 ? 1 - h * h : s.activation == 1 ? (Real)(h > 0) : h * (1 - h);
  AT(1, j) = valid ? dh * slope : 0;
  AT(2, j) = valid ? 0 : dh;
}

#define EXPORT(name)                                                                               \
  extern "C" __global__ void name##_all(Step s) {                                                  \
    const Int b = blockIdx.x * (Int)blockDim.x + threadIdx.x, row = blockIdx.y;                    \
    const Int k = row / s.hidden;                                                                  \
    if (b < s.batch) name(s, k, row % s.hidden, b, !s.valid || s.valid[k * s.valid_member + b]);   \
  }

EXPORT(lstm_forward)
EXPORT(lstm_backward)
EXPORT(gru_gates)
EXPORT(gru_forward)
EXPORT(gru_backward)
EXPORT(gru_gates_backward)
EXPORT(rnn_forward)
EXPORT(rnn_backward)
