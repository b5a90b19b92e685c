// The largest value of each window of 2 x 2, and the gradient back to where it was. A plane is a channel of a picture.
//
// DOUBLE  0 for float, 1 for double

#include "panels.cpp"
#include "windows.cpp"

template <class Work> INLINE void each_row(Int planes, Int rows, Int columns, Int threads, Work work) {
  const Int high = rows / 2, wide = columns / 2;
#pragma omp parallel for num_threads((int)threads) schedule(static)
  for (Int p = 0; p < planes; ++p)
    for (Int i = 0; i < high; ++i) {
      const Int top = (p * rows + 2 * i) * columns, first = (p * high + i) * wide;
      each_window(wide, [=](Int j, auto kind) { work(top + 2 * j, first + j, kind); });
    }
}

extern "C" void largest(Int planes, Int rows, Int columns, Int threads, const Real* maps, Real* values) {
  each_row(planes, rows, columns, threads, [=](Int top, Int at, auto kind) {
    put(values + at, largest_of(read(maps + top, maps + top + columns, kind)));
  });
}

// What no window covers must be 0 before.
extern "C" void spread(Int planes, Int rows, Int columns, Int threads, const Real* maps, const Real* slopes, Real* to) {
  each_row(planes, rows, columns, threads, [=](Int top, Int at, auto kind) {
    write(to + top, to + top + columns, spread_over(read(maps + top, maps + top + columns, kind), get(slopes + at, kind)));
  });
}
