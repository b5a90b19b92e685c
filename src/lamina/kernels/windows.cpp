// Windows of 2 x 2 that lie side by side, one or four at a time; behind `panels.cpp`.
//
// A later value wins if it is larger or no number, as in torch's max_pool2d.

INLINE Four four(const Real* from) { return *(const Four*)from; }
INLINE void put(Real* to, Real value) { *to = value; }
INLINE void put(Real* to, Four value) { *(Four*)to = value; }
INLINE Real get(const Real* from, Real) { return *from; }
INLINE Four get(const Real* from, Four) { return four(from); }
INLINE Places wins(Four later, Four first) { return (later > first) | (later != later); }
INLINE int wins(Real later, Real first) { return (later > first) | (later != later); }

// The values of windows: left and right above, left and right below.
template <class Value> struct Windows {
  Value a, b, c, d;
};

INLINE Windows<Real> read(const Real* top, const Real* low, Real) { return {top[0], top[1], low[0], low[1]}; }

INLINE Windows<Four> read(const Real* top, const Real* low, Four) {
  const Four p = four(top), q = four(top + 4), r = four(low), s = four(low + 4);
  return {SHUFFLE(p, q, 0, 2, 4, 6), SHUFFLE(p, q, 1, 3, 5, 7), SHUFFLE(r, s, 0, 2, 4, 6), SHUFFLE(r, s, 1, 3, 5, 7)};
}

INLINE void write(Real* top, Real* low, Windows<Real> w) { top[0] = w.a, top[1] = w.b, low[0] = w.c, low[1] = w.d; }

INLINE void write(Real* top, Real* low, Windows<Four> w) {
  put(top, SHUFFLE(w.a, w.b, 0, 4, 1, 5)), put(top + 4, SHUFFLE(w.a, w.b, 2, 6, 3, 7));
  put(low, SHUFFLE(w.c, w.d, 0, 4, 1, 5)), put(low + 4, SHUFFLE(w.c, w.d, 2, 6, 3, 7));
}

template <class Value> INLINE Windows<Value> all_of(Value value) { return {value, value, value, value}; }

template <class Value> INLINE Value largest_of(Windows<Value> w) {
  const Value m = wins(w.b, w.a) ? w.b : w.a, n = wins(w.d, w.c) ? w.d : w.c;
  return wins(n, m) ? n : m;
}

template <class Value> INLINE Windows<Value> spread_over(Windows<Value> w, Value slope) {
  const auto right = wins(w.b, w.a), other = wins(w.d, w.c);
  const Value none = {}, m = right ? w.b : w.a, n = other ? w.d : w.c;
  const auto below = wins(n, m);
  const Value up = below ? none : slope, down = below ? slope : none;
  return {right ? none : up, right ? up : none, other ? none : down, other ? down : none};
}

// Windows of two rows: those of four columns together, the last four perhaps overlapping those before.
template <class Work> INLINE void each_window(Int wide, Work work) {
  if (wide < 4)
    for (Int j = 0; j < wide; ++j) work(j, Real{});
  else
    for (Int j = 0; j < wide; j += 4) work(j + 4 <= wide ? j : wide - 4, Four{});
}
