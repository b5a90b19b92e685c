// K recurrent cells along a sequence, forward and backward: one thread takes a member through all times, with what lies
// between two of them in memory of that thread; the inputs are further rows of the state. Sums are made as in
// `panels.cpp`, so that the bits of a member depend neither on K nor on its place.
//
// DOUBLE  0 for float, 1 for double
//
// A gated cell stacks its rows as in `functional.recurrent`. Inside, values lie as [row][line], a line being a batch in
// whole vectors. Where a sequence is over (`valid` is 0), the state stays as it is and so does the gradient that comes
// from behind.

#include "panels.cpp"
#include <fenv.h>

enum { kPlain, kGated, kLong };

struct Scan {
  Int members, hidden, features, time, batch, line;
  Int cell, act, reverse;      // plain, GRU or LSTM; the activation of a plain one
  const Real* inputs;          // [member or 1][time][feature][batch]
  Int inputs_member, inputs_time, inputs_feature;
  const Real* weight;          // [member][row][hidden + feature]
  const Real* bias;            // [member][row]
  const unsigned char* valid;  // [time][member or 1][batch], or null
  Int valid_time, valid_member;
  const Real *h0, *c0;         // [member][hidden][batch]
  Real* states;                // [member][hidden][time + 1][batch]
  Real* kept;                  // the gates [member][time][row][line]
  Real* memory;                // c [member][time + 1][hidden][line]
  const Real* slopes;          // of the states [member][hidden][time][batch], or null
  Real* d_inputs;              // [member][time][feature][batch], or null
  Real *d_weight, *d_bias;     // as `weight` and `bias`
  Real *d_h0, *d_c0;           // as `h0`; they hold the slopes of the last h and c first
};

static thread_local Memory own_values, own_places;

// Memory of one thread for one shape.
struct Room {
  Real *h, *other, *d, *z, *sums, *panel, *biases;  // `h`, `other` and `d` have further rows for the inputs
  Whole* valid;
  Int *direct, *packed;  // where a line and a row of a panel begin
  Room(const Scan& s, Int rows) {
    const Int all = s.hidden + s.features, n = all * s.line, lines = all > rows ? all : rows;
    h = (Real*)own_values.get((3 * n + rows * (s.line + all + kLanes) + s.batch * kWide) * sizeof(Real));
    other = h + n, d = other + n, z = d + n, biases = z + rows * s.line, panel = biases + rows * kLanes;
    sums = panel + s.batch * kWide;
    direct = (Int*)own_places.get((lines + s.batch) * sizeof(Int) + s.line * sizeof(Whole));
    packed = direct + lines, valid = (Whole*)(packed + s.batch);
    for (Int l = 0; l < lines; ++l) direct[l] = l * s.line;
    for (Int b = 0; b < s.batch; ++b) packed[b] = b * kWide;
    for (Int b = 0; b < s.line; ++b) valid[b] = -1;
  }
};

INLINE Vec load_row(const Real* from, Int left) {
  return left >= kLanes ? load(from) : left > 0 ? load_part(from, left) : (Vec){};
}

INLINE void store_row(Real* to, Vec value, Int left) {
  if (left >= kLanes)
    store(to, value);
  else if (left > 0)
    store_part(to, value, left);
}

enum { kIdentity = 0, kSigmoid = 2, kTanh = 3 };

// One member on its way through time.
struct Member {
  const Scan& s;
  const Room& room;
  const Int k, rows, n, all, line, batch;  // `all` counts states and features
  const Real *weight, *bias;
  Member(const Scan& scan, const Room& own, Int number)
      : s(scan), room(own), k(number), rows((scan.cell == kLong ? 4 : scan.cell == kGated ? 3 : 1) * scan.hidden),
        n(scan.hidden), all(scan.hidden + scan.features), line(scan.line), batch(scan.batch),
        weight(scan.weight + number * rows * all), bias(scan.bias + number * rows) {}

  Int before(Int t) const { return s.reverse ? t + 1 : t; }
  Int after(Int t) const { return s.reverse ? t : t + 1; }
  Real* state(Int j, Int slot) const { return s.states + ((k * n + j) * (s.time + 1) + slot) * batch; }
  Real* gates(Int t) const { return s.cell == kPlain ? room.z : s.kept + (k * s.time + t) * rows * line; }
  Real* memory(Int slot) const { return s.memory + (k * (s.time + 1) + slot) * n * line; }
  const Real* input(Int t) const { return s.inputs + k * s.inputs_member + t * s.inputs_time; }
  Wholes valid(Int b) const {
    Wholes found;
    memcpy(&found, room.valid + b, sizeof found);
    return found;
  }
  void look(Int t) const {
    if (s.valid)
      for (Int b = 0; b < batch; ++b) room.valid[b] = -(Whole)s.valid[t * s.valid_time + k * s.valid_member + b];
  }

  // to[row] = sum over l of a[row][l] from[l]
  void product(Int count, Int sum, const Real* a, Int a_row, Int a_sum, const Real* from, Real* to,
               const Real* shift = 0, int act = kIdentity) const {
    for (Int first = 0; first < line; first += kWide)
      panel_of(count, sum, a, a_row, a_sum, from + first, room.direct,
               Finish{shift, act, to + first, line, least(kWide, line - first)});
  }

  // Some gates of a step from the state and the inputs behind it.
  void gate(Int first, Int count, const Real* from, Real* z, int act) const {
    product(count, all, weight + first * all, all, 1, from, z + first * line, bias + first, act);
  }

  // What one time contributes to some entries of the weight's gradient: sum over the batch of dz[row] from[column].
  void outer(Int first_row, Int count, Int first_column, Int columns, const Real* from, Int stride) const {
    for (Int first = 0; first < columns; first += kWide) {
      const Finish f = {0, 0, room.sums + first_row * all + first_column + first, all, least(kWide, columns - first)};
      pack(room.panel, from + first * stride, batch, 1, stride, f.columns);
      panel_of(count, batch, room.z + first_row * line, line, 1, room.panel, room.packed, f);
    }
  }

  // Add up what one time contributes to the gradients of weight and bias.
  void add_up() const {
    Real* const to = s.d_weight + k * rows * all;
    for (Int i = 0; i < rows * all; ++i) to[i] += room.sums[i];
    for (Int row = 0; row < rows; ++row) {
      Vec sum = load(room.biases + row * kLanes);
      for (Int b = 0; b < line; b += kLanes) sum += load(room.z + row * line + b);
      store(room.biases + row * kLanes, sum);
    }
  }

  // Write, or add to, the gradient of the inputs of a time.
  void give_inputs(Int t, bool more) const {
    Real* const to = s.d_inputs + (k * s.time + t) * s.features * batch;
    for (Int f = 0; f < s.features; ++f)
      for (Int b = 0; b < batch; b += kLanes) {
        const Vec d = load(room.d + (n + f) * line + b);
        store_row(to + f * batch + b, more ? d + load_row(to + f * batch + b, batch - b) : d, batch - b);
      }
  }

  void forward() const {
    for (Int j = 0; j < n; ++j)
      for (Int b = 0; b < line; b += kLanes) {
        const Int at = (k * n + j) * batch + b;
        const Vec h = load_row(s.h0 + at, batch - b);
        store(room.h + j * line + b, h);
        store_row(state(j, s.reverse ? s.time : 0) + b, h, batch - b);
        if (s.cell == kLong) store(memory(s.reverse ? s.time : 0) + j * line + b, load_row(s.c0 + at, batch - b));
      }
    for (Int step = 0; step < s.time; ++step) {
      const Int t = s.reverse ? s.time - 1 - step : step;
      look(t);
      Real* const z = gates(t);
      for (Int f = 0; f < s.features; ++f)
        for (Int b = 0; b < line; b += kLanes) {
          const Vec u = load_row(input(t) + f * s.inputs_feature + b, batch - b);
          store(room.h + (n + f) * line + b, u);
          if (s.cell == kGated) store(room.other + (n + f) * line + b, u);
        }
      if (s.cell == kPlain) {
        gate(0, n, room.h, z, (int)s.act);
      } else if (s.cell == kGated) {
        gate(0, 2 * n, room.h, z, kSigmoid);
        for (Int at = 0; at < n * line; at += kLanes) store(room.other + at, load(z + at) * load(room.h + at));
        gate(2 * n, n, room.other, z, kTanh);
      } else {
        gate(0, 3 * n, room.h, z, kSigmoid);
        gate(3 * n, n, room.h, z, kTanh);
      }
      for (Int j = 0; j < n; ++j)
        for (Int b = 0; b < line; b += kLanes) {
          const Vec h = step_of(z, t, j, b), old = load(room.h + j * line + b), next = valid(b) ? h : old;
          store(room.h + j * line + b, next);
          store_row(state(j, after(t)) + b, next, batch - b);
        }
    }
  }

  // The state after a step, from its gates.
  __attribute__((always_inline)) Vec step_of(const Real* z, Int t, Int j, Int b) const {
    const Int at = j * line + b, gate = n * line;
    if (s.cell == kPlain) return load(z + at);
    if (s.cell == kGated) {
      const Vec u = load(z + gate + at), c = load(z + 2 * gate + at);
      return u * c + (1 - u) * load(room.h + at);
    }
    const Vec old = load(memory(before(t)) + at), c = load(z + at) * old + load(z + gate + at) * load(z + 3 * gate + at);
    store(memory(after(t)) + at, valid(b) ? c : old);
    return load(z + 2 * gate + at) * tanh_of(c);
  }

  void backward() const {
    Real* const dc = room.other;  // of an LSTM; the state that was let through, of a GRU
    memset(s.d_weight + k * rows * all, 0, rows * all * sizeof(Real));
    memset(room.biases, 0, rows * kLanes * sizeof(Real));
    for (Int j = 0; j < n; ++j)
      for (Int b = 0; b < line; b += kLanes) {
        const Int at = (k * n + j) * batch + b;
        store(room.h + j * line + b, load_row(s.d_h0 + at, batch - b));
        if (s.cell == kLong) store(dc + j * line + b, load_row(s.d_c0 + at, batch - b));
      }
    for (Int step = s.time - 1; step >= 0; --step) {
      const Int t = s.reverse ? s.time - 1 - step : step;
      look(t);
      const Real* const z = gates(t);
      for (Int j = 0; j < n; ++j)
        for (Int b = 0; b < line; b += kLanes) back_of(z, t, j, b);
      const Int wanted = s.d_inputs ? all : n;
      if (s.cell == kGated) {
        product(wanted, n, weight + 2 * n * all, 1, all, room.z + 2 * n * line, room.d);
        for (Int j = 0; j < n; ++j)
          for (Int b = 0; b < line; b += kLanes) {
            const Int at = j * line + b;
            const Vec r = load(z + at), d = load(room.d + at), h = load_row(state(j, before(t)) + b, batch - b);
            store(room.z + at, d * h * r * (1 - r));
            store(room.other + at, r * h);
            store(room.h + at, load(room.h + at) + d * r);
          }
        if (s.d_inputs) give_inputs(t, false);
      }
      const Int states = s.cell == kGated ? 2 * n : rows;  // rows whose product is with the state itself
      product(wanted, states, weight, 1, all, room.z, room.d);
      if (s.d_inputs) give_inputs(t, s.cell == kGated);
      for (Int at = 0; at < n * line; at += kLanes) store(room.h + at, load(room.h + at) + load(room.d + at));
      outer(0, states, 0, n, state(0, before(t)), (s.time + 1) * batch);
      if (s.cell == kGated) outer(2 * n, n, 0, n, room.other, line);
      outer(0, rows, n, s.features, input(t), s.inputs_feature);
      add_up();
    }
    for (Int row = 0; row < rows; ++row) s.d_bias[k * rows + row] = sum_of(load(room.biases + row * kLanes));
    for (Int j = 0; j < n; ++j)
      for (Int b = 0; b < batch; b += kLanes) {
        const Int at = (k * n + j) * batch + b;
        store_row(s.d_h0 + at, load(room.h + j * line + b), batch - b);
        if (s.cell == kLong) store_row(s.d_c0 + at, load(dc + j * line + b), batch - b);
      }
  }

  // From the gradient of a state, what passes by it and what goes into the sums.
  __attribute__((always_inline)) void back_of(const Real* z, Int t, Int j, Int b) const {
    const Int at = j * line + b, gate = n * line, left = batch - b;
    const Wholes here = valid(b);
    const Vec none = {}, slope = s.slopes ? load_row(s.slopes + ((k * n + j) * s.time + t) * batch + b, left) : none;
    const Vec dh = load(room.h + at) + slope;
    Real* const dz = room.z;
    if (s.cell == kPlain) {
      const Vec d = through(dh, load_row(state(j, after(t)) + b, left), (int)s.act);
      store(dz + at, here ? d : none);
      store(room.h + at, here ? none : dh);
    } else if (s.cell == kGated) {
      const Vec u = load(z + gate + at), c = load(z + 2 * gate + at), h = load_row(state(j, before(t)) + b, left);
      const Vec du = dh * (c - h) * u * (1 - u), d = dh * u * (1 - c * c), by = dh * (1 - u);
      store(dz + gate + at, here ? du : none);
      store(dz + 2 * gate + at, here ? d : none);
      store(room.h + at, here ? by : dh);
    } else {
      Real* const dc = room.other;
      const Vec f = load(z + at), i = load(z + gate + at), o = load(z + 2 * gate + at), g = load(z + 3 * gate + at);
      const Vec m = tanh_of(load(memory(after(t)) + at)), d = load(dc + at) + dh * o * (1 - m * m);
      const Vec df = d * load(memory(before(t)) + at) * f * (1 - f), di = d * g * i * (1 - i);
      const Vec d_o = dh * m * o * (1 - o), dg = d * i * (1 - g * g), on = d * f, stays = load(dc + at);
      store(dz + at, here ? df : none), store(dz + gate + at, here ? di : none);
      store(dz + 2 * gate + at, here ? d_o : none), store(dz + 3 * gate + at, here ? dg : none);
      store(room.h + at, here ? none : dh);
      store(dc + at, here ? on : stays);
    }
  }
};

// Run all members forward or backward, each by one thread.
extern "C" void scan(const Scan* given, Int backward, Int threads) {
  const Scan s = *given;
  const Int rows = (s.cell == kLong ? 4 : s.cell == kGated ? 3 : 1) * s.hidden;
  threads = s.members * s.time * s.batch * rows * (s.hidden + s.features) > 65536 ? least(threads, s.members) : 1;
  fenv_t rule;  // about denormal numbers; that of the other threads may differ
  fegetenv(&rule);
#pragma omp parallel num_threads((int)threads)
  {
    fenv_t own;
    fegetenv(&own);
    fesetenv(&rule);
    const Room room(s, rows);
#pragma omp for schedule(dynamic)
    for (Int k = 0; k < s.members; ++k) {
      const Member member(s, room, k);
      if (backward)
        member.backward();
      else
        member.forward();
    }
    fesetenv(&own);
  }
}
