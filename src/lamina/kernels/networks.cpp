// A pass of K dense networks over a batch: forward, judgement and backward of a member as a whole by one thread, with
// what lies between the layers in memory of that thread. Sums are made as `product` and `differentiate` make them.
//
// DOUBLE  0 for float, 1 for double
//
// Between layers values lie as [unit][line], a line being a batch in whole vectors.

#include "panels.cpp"
#include "judge.cu"
#include <fenv.h>
#ifdef _OPENMP
#include <omp.h>
#else
INLINE int omp_get_num_threads() { return 1; }
INLINE int omp_get_thread_num() { return 0; }
#endif

struct Networks {
  Int members, layers;
  const Int* widths;  // of the inputs and of each layer
  const Int* acts;
  const Real* const* weights;  // of each layer [member][out][in]
  const Real* const* biases;   // [member][out], or null
  Real* const* d_weights;
  Real* const* d_biases;
};

struct Batch {
  Int size;
  const Real* inputs;  // [member][row][unit]; a stride of 0 where all members read the same
  Int of_member;
  const void* targets;  // classes [row], or numbers [row][output]
  Int target_row, target_of_member;
};

struct Judging {
  Counters counters;
  const Real* weights;  // of classes
  Int weights_of_member;
  double smoothing;
  Int squares;  // whether half the squared error is minimized, or the negative log likelihood
};

static thread_local Memory own_values, own_places, own_turns;

// Memory of one thread for one shape.
struct Room {
  Int line;                    // entries of a line
  Real** values;               // of the inputs and of each layer [unit][line]
  Real *slopes[2], *rows, *panel;  // slopes as values; inputs in panels [row][kWide]; one panel
  Int *direct, *packed;        // where a line and a row of a panel begin
  Room(const Networks& n, Int batch) {
    Int units = 0, widest = 0;
    for (Int l = 0; l <= n.layers; ++l) units += n.widths[l], widest = n.widths[l] > widest ? n.widths[l] : widest;
    const Int wide = (n.widths[0] + kWide - 1) / kWide * kWide;
    line = (batch + kLanes - 1) / kLanes * kLanes;
    Real* const all = (Real*)own_values.get(((units + 2 * widest) * line + (wide + kWide) * batch) * sizeof(Real));
    direct = (Int*)own_places.get((widest + batch) * sizeof(Int) + (n.layers + 1) * sizeof(Real*));
    packed = direct + widest, values = (Real**)(packed + batch);
    for (Int l = 0; l < widest; ++l) direct[l] = l * line;
    for (Int b = 0; b < batch; ++b) packed[b] = b * kWide;
    values[0] = all;
    for (Int l = 0; l < n.layers; ++l) values[l + 1] = values[l] + n.widths[l] * line;
    slopes[0] = all + units * line, slopes[1] = slopes[0] + widest * line;
    rows = slopes[1] + widest * line, panel = rows + wide * batch;
  }
};

// Lay out the inputs twice: as values, and in panels for the gradient of the first weights.
static void lay_inputs(const Room& room, const Real* from, Int batch, Int units) {
  Real* const to = room.values[0];
  Int b = 0;
  for (; b + 4 <= batch; b += 4) {
    Int u = 0;
    for (; u + 4 <= units; u += 4) turn(from + b * units + u, units, to + u * room.line + b, room.line);
    for (; u < units; ++u)
      for (Int i = b; i < b + 4; ++i) to[u * room.line + i] = from[i * units + u];
  }
  for (; b < room.line; ++b)
    for (Int u = 0; u < units; ++u) to[u * room.line + b] = b < batch ? from[b * units + u] : 0;
  for (Int first = 0; first < units; first += kWide)
    pack(room.rows + first * batch, from + first, batch, units, 1, least(kWide, units - first));
}

// to[row][line] = act(sum over l of a[row][l] b[l][line] + bias[row])
INLINE void lines_of(const Room& room, Int rows, Int sum, const Real* a, Int a_row, Int a_sum, const Real* b,
                     const Real* bias, int act, Real* to) {
  for (Int first = 0; first < room.line; first += kWide) {
    const Finish f = {bias, act, to + first, room.line, least(kWide, room.line - first)};
    panel_of(rows, sum, a, a_row, a_sum, b + first, room.direct, f);
  }
}

// Half the squared error of one member and its slope.
INLINE void judge_squares(Int k, const Real* z, const Real* targets, Int row, Real* slope, Int line, Int batch,
                          Int outputs, const Counters& counters) {
  double sum = 0;
  for (Int o = 0; o < outputs; ++o)
    for (Int b = 0; b < batch; ++b) {
      const Real error = z[o * line + b] - targets[b * row + o];
      slope[o * line + b] = error / batch;
      sum += (double)error * error;
    }
  count(k, sum / 2, sum, batch, counters);
}

// The gradients of one member from the slope of its outputs in slopes[0].
static void go_back(const Networks& n, const Room& room, Int k, Int batch) {
  Real *g = room.slopes[0], *next = room.slopes[1];
  for (Int l = n.layers - 1; l >= 0; --l) {
    const Int in = n.widths[l], out = n.widths[l + 1], line = room.line;
    for (Int row = 0; row < out; ++row) {
      Vec sum = {};
      for (Int at = row * line; at < (row + 1) * line; at += kLanes) {
        const Vec d = through(load(g + at), load(room.values[l + 1] + at), (int)n.acts[l]);
        store(g + at, d);
        sum += d;
      }
      if (n.d_biases[l]) n.d_biases[l][k * out + row] = sum_of(sum);
    }
    for (Int first = 0; first < in; first += kWide) {
      const Finish f = {0, 0, n.d_weights[l] + k * out * in + first, in, least(kWide, in - first)};
      Real* const panel = l ? room.panel : room.rows + first * batch;
      if (l) pack(panel, room.values[l] + first * line, batch, 1, line, f.columns);
      panel_of(out, batch, g, line, 1, panel, room.packed, f);
    }
    if (l) lines_of(room, in, out, n.weights[l] + k * out * in, 1, in, g, 0, 0, next);
    Real* const other = g;
    g = next, next = other;
  }
}

// What one thread does with one member.
struct Work {
  const Networks& n;
  const Batch& batch;
  const Judging& j;
  const bool learning;
  void (*const then)(const void*, Int);
  const void* const what;

  void operator()(const Room& room, Int k) const {
    const Int size = batch.size, outputs = n.widths[n.layers];
    const double ever = j.counters.ever[k];
    if (learning && !(j.counters.active[k] && ever - ever == 0)) {
      j.counters.alive[k] = 0;
      return;
    }
    if (batch.of_member) lay_inputs(room, batch.inputs + k * batch.of_member, size, n.widths[0]);
    for (Int l = 0; l < n.layers; ++l) {
      const Int in = n.widths[l], out = n.widths[l + 1];
      lines_of(room, out, in, n.weights[l] + k * out * in, in, 1, room.values[l], n.biases[l] ? n.biases[l] + k * out : 0,
               (int)n.acts[l], room.values[l + 1]);
    }
    const Int to = k * batch.target_of_member, row = batch.target_row, line = room.line;
    Real *const z = room.values[n.layers], *const slope = room.slopes[0];
    if (j.squares)
      judge_squares(k, z, (const Real*)batch.targets + to, row, slope, line, size, outputs, j.counters);
    else
      judge_member(k, z, 1, line, (const Int*)batch.targets + to, row,
                   j.weights ? j.weights + k * j.weights_of_member : 0, slope, line, size, outputs, j.smoothing,
                   j.counters);
    if (!learning) return;
    for (Int o = 0; o < outputs; ++o)
      for (Int b = size; b < line; ++b) slope[o * line + b] = 0;
    go_back(n, room, k, size);
    if (then) then(what, k);
  }
};

// Forward and judgement; with `learning` the gradients, and then what is to be done with those of a member. Members that
// are no longer changed are left out. A thread takes its own members, the same in every pass, then those that others
// have not begun.
extern "C" void pass(const Networks* networks, const Batch* batch, const Judging* judging, Int learning,
                     void (*then)(const void*, Int), const void* what, Int threads) {
  const Work work = {*networks, *batch, *judging, learning != 0, then, what};
  Int entries = 0;
  for (Int l = 0; l < work.n.layers; ++l) entries += work.n.widths[l] * work.n.widths[l + 1];
  threads = work.n.members * batch->size * entries > 65536 ? least(threads, work.n.members) : 1;
  enum { kApart = 8 };  // counters of different threads lie in different lines of the cache
  Int* const begun = (Int*)own_turns.get(threads * kApart * sizeof(Int));
  memset(begun, 0, threads * kApart * sizeof(Int));
  fenv_t rule;  // about denormal numbers; that of the other threads may differ
  fegetenv(&rule);
#pragma omp parallel num_threads((int)threads)
  {
    fenv_t own;
    fegetenv(&own);
    fesetenv(&rule);
    const Room room(work.n, batch->size);
    if (!batch->of_member) lay_inputs(room, batch->inputs, batch->size, work.n.widths[0]);
    const Int all = omp_get_num_threads(), me = omp_get_thread_num();
    for (Int turn = 0; turn < all; ++turn) {
      const Int whose = (me + turn) % all, first = work.n.members * whose / all, end = work.n.members * (whose + 1) / all;
      for (Int k; (k = first + __atomic_fetch_add(begun + whose * kApart, 1, __ATOMIC_RELAXED)) < end;) work(room, k);
    }
    fesetenv(&own);
  }
}
