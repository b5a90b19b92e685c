// Products, sums and convolutions of K small networks on a CPU, in an order that the shapes of one network decide.

#include "panels.cpp"
#include "windows.cpp"

static thread_local Memory own_panel, own_places, shared_panels, own_maps;

// c[k][row][column] = act(sum over l of a[k][row][l] b[k][l][column] + bias[k][row]), b shared by all where b_member is 0.
extern "C" void product(Int members, Int rows, Int columns, Int sum, const Real* a, Int a_member, Int a_row, Int a_sum,
                        const Real* b, Int b_member, Int b_sum, Int b_column, const Real* bias, Int act, Real* c,
                        Int threads) {
  const Int panels = (columns + kWide - 1) / kWide, work = members * rows * columns * sum;
  const bool once = b_member == 0 && members > 1;
  Real* const together = once ? (Real*)shared_panels.get(panels * sum * kWide * sizeof(Real)) : 0;
#pragma omp parallel num_threads((int)threads) if (work > 65536)
  {
    Int* const packed = (Int*)own_places.get(2 * sum * sizeof(Int));
    Int* const direct = packed + sum;
    for (Int l = 0; l < sum; ++l) packed[l] = l * kWide, direct[l] = l * b_sum;
    if (once) {
#pragma omp for schedule(static)
      for (Int p = 0; p < panels; ++p)
        pack(together + p * sum * kWide, b + p * kWide * b_column, sum, b_sum, b_column, least(kWide, columns - p * kWide));
    }
#pragma omp for schedule(static)
    for (Int item = 0; item < members * panels; ++item) {
      const Int k = item / panels, p = item % panels, first = p * kWide, width = least(kWide, columns - first);
      const Finish f = {bias ? bias + k * rows : 0, (int)act, c + k * rows * columns + first, columns, width};
      const Real* right = b + k * b_member + first * b_column;
      const Int* at = direct;
      if (once) {
        right = together + p * sum * kWide, at = packed;
      } else if (b_column != 1 || width < kWide) {
        Real* const mine = (Real*)own_panel.get(sum * kWide * sizeof(Real));
        pack(mine, right, sum, b_sum, b_column, width);
        right = mine, at = packed;
      }
      panel_of(rows, sum, a + k * a_member, a_row, a_sum, right, at, f);
    }
  }
}

// Each row: g times the derivative of the activation at y, written to `to` (unless that is null), and its sum.
extern "C" void differentiate(Int rows, Int columns, const Real* g, const Real* y, Int act, Real* to, Real* sums,
                              Int threads) {
#pragma omp parallel for schedule(static) num_threads((int)threads) if (rows * columns > 16384)
  for (Int row = 0; row < rows; ++row) {
    Vec sum = {};
    for (Int first = 0; first < columns; first += kLanes) {
      const Int at = row * columns + first, left = columns - first;
      Vec d = left < kLanes ? load_part(g + at, left) : load(g + at);
      if (y) d = through(d, left < kLanes ? load_part(y + at, left) : load(y + at), (int)act);
      sum += d;
      if (to && left < kLanes) store_part(to + at, d, left);
      if (to && left >= kLanes) store(to + at, d);
    }
    if (sums) sums[row] = sum_of(sum);
  }
}

// Each entry: activated, or, where there are gradients behind the activation, the gradient before it.
extern "C" void activate(Int count, const Real* z, Int act, const Real* g, Real* to, Int threads) {
#pragma omp parallel for schedule(static) num_threads((int)threads) if (count > 16384)
  for (Int first = 0; first < count; first += kLanes) {
    const Int left = least(kLanes, count - first);
    const bool whole = left == kLanes;
    const Vec value = whole ? load(z + first) : load_part(z + first, left);
    const Vec result = !g ? activated(value, (int)act)
                          : through(whole ? load(g + first) : load_part(g + first, left), value, (int)act);
    if (whole)
      store(to + first, result);
    else
      store_part(to + first, result, left);
  }
}

// The squares of each member added up in float64: 16 sums side by side, then these by halves.
extern "C" void squares(Int members, Int size, const Real* x, double* sums, Int threads) {
#pragma omp parallel for schedule(static) num_threads((int)threads) if (members * size > 65536)
  for (Int k = 0; k < members; ++k) {
    enum { kSums = 16 };
    double side[kSums] = {};
    const Real* const own = x + k * size;
    const Int whole = size / kSums * kSums;
    for (Int i = 0; i < whole; i += kSums)
      for (int j = 0; j < kSums; ++j) side[j] += (double)own[i + j] * own[i + j];
    for (Int i = whole; i < size; ++i) side[i - whole] += (double)own[i] * own[i];
    for (int half = kSums / 2; half; half /= 2)
      for (int j = 0; j < half; ++j) side[j] += side[j + half];
    sums[k] = side[0];
  }
}

// A convolution of stride 1 with what follows it. Maps are computed as wide as the padded image is, so that an entry of
// the kernel is a shift of the whole image: the columns behind the last one hold nothing and are never read.
struct Form {
  Int channels, height, width, filters, rows, columns, padding, act, pool, largest;
  Int high() const { return height + 2 * padding; }
  Int wide() const { return width + 2 * padding; }
  Int out_rows() const { return high() - rows + 1; }
  Int out_columns() const { return wide() - columns + 1; }
  Int entries() const { return channels * rows * columns; }
  Int line() const { return (out_rows() * wide() * sizeof(Real) + 63) / 64 * 64 / sizeof(Real); }  // of a map
  Int margin() const { return (rows - 1) * wide() + columns - 1; }
  Int image() const { return channels * high() * wide() + margin() + 2 * kWide; }  // with what a vector reads too much
  Int slopes() const { return margin() + high() * wide() + 2 * kWide; }            // a map with zeros on both sides
};

INLINE void lay_image(Real* to, const Real* from, const Form& f) {
  for (Int c = 0; c < f.channels; ++c)
    for (Int row = 0; row < f.height; ++row)
      memcpy(to + (c * f.high() + row + f.padding) * f.wide() + f.padding, from + (c * f.height + row) * f.width,
             f.width * sizeof(Real));
}

INLINE void lay_taps(Int* at, const Form& f) {
  for (Int c = 0; c < f.channels; ++c)
    for (Int r = 0; r < f.rows; ++r)
      for (Int s = 0; s < f.columns; ++s) *at++ = (c * f.high() + r) * f.wide() + s;
}

INLINE Real larger(Real a, Real b) { return (b > a) | (b != b) ? b : a; }  // not a number is the largest

// The mean or the largest of each window.
static void pooled(Real* to, const Real* maps, const Form& f) {
  const Int high = f.out_rows() / f.pool, wide = f.out_columns() / f.pool, pool = f.pool;
  const Real share = pool * pool;
  for (Int o = 0; o < f.filters; ++o)
    for (Int row = 0; row < high; ++row, to += wide) {
      const Real* first = maps + o * f.line() + row * pool * f.wide();
      if (pool == 2) {  // as below, but as vector code
        const Real* second = first + f.wide();
        if (f.largest)
          each_window(wide, [=](Int i, auto kind) { put(to + i, largest_of(read(first + 2 * i, second + 2 * i, kind))); });
        else
          each_window(wide, [=](Int i, auto kind) {
            const auto w = read(first + 2 * i, second + 2 * i, kind);
            put(to + i, ((w.a + w.c) + (w.b + w.d)) / share);
          });
        continue;
      }
      for (Int i = 0; i < wide; ++i) {
        Real y = first[i * pool];
        for (Int j = 1; j < pool * pool; ++j) {
          const Real other = first[j / pool * f.wide() + i * pool + j % pool];
          y = f.largest ? larger(y, other) : y + other;
        }
        to[i] = f.largest ? y : y / share;
      }
    }
}

// Images [member or 1][image][channel][row][column] to maps behind the pooling, laid out alike; `kept`, unless it is null,
// takes the maps before it as [member][image][filter][line].
extern "C" void convolve(Int members, Int batch, const Form* form, const Real* x, Int x_member, const Real* weight,
                         const Real* bias, Real* kept, Real* out, Int threads) {
  const Form f = *form;
  const Int size = f.filters * f.line(), count = (f.out_rows() - 1) * f.wide() + f.out_columns();
  const Int pixels = f.filters * (f.out_rows() / f.pool) * (f.out_columns() / f.pool);
#pragma omp parallel num_threads((int)threads)
  {
    Int* const at = (Int*)own_places.get(f.entries() * sizeof(Int));
    Real* const image = (Real*)own_maps.get((f.image() + size) * sizeof(Real));
    memset(image, 0, (f.image() + size) * sizeof(Real));
    lay_taps(at, f);
#pragma omp for schedule(static)
    for (Int item = 0; item < members * batch; ++item) {
      const Int k = item / batch, b = item % batch;
      lay_image(image, x + k * x_member + b * f.channels * f.height * f.width, f);
      Real* const maps = kept ? kept + item * size : image + f.image();
      for (Int n = 0; n < count; n += kWide) {
        const Finish end = {bias ? bias + k * f.filters : 0, (int)f.act, maps + n, f.line(), least(kWide, f.line() - n)};
        panel_of(f.filters, f.entries(), weight + k * f.filters * f.entries(), f.entries(), 1, image + n, at, end);
      }
      pooled(out + item * pixels, maps, f);
    }
  }
}

// The gradients of the sums before the activation, with zeros where a map holds nothing.
static void unpooled(Real* to, const Real* maps, const Real* grad, const Form& f) {
  const Int pool = f.pool, high = f.out_rows() / pool, wide = f.out_columns() / pool;
  const Real share = pool * pool;
  for (Int o = 0; o < f.filters; ++o) {
    const Real* const y = maps + o * f.line();
    Real* const d = to + o * f.slopes() + f.margin();
    for (Int row = 0; row < high; ++row, grad += wide) {
      const Int first = row * pool * f.wide();
      if (pool == 2) {
        const Real *const above = y + first, *const below = above + f.wide();
        Real *const up = d + first, *const down = up + f.wide();
        each_window(wide, [=](Int i, auto kind) {
          const auto g = get(grad + i, kind), part = g / share;
          write(up + 2 * i, down + 2 * i,
                f.largest ? spread_over(read(above + 2 * i, below + 2 * i, kind), g) : all_of(part));
        });
        continue;
      }
      if (!f.largest) {
        for (Int r = 0; r < pool; ++r)
          for (Int i = 0; i < wide; ++i)
            for (Int j = 0; j < pool; ++j) d[first + r * f.wide() + i * pool + j] = grad[i] / share;
        continue;
      }
      for (Int i = 0; i < wide; ++i) {
        Int chosen = 0;
        for (Int j = 0; j < pool * pool; ++j) {
          const Int here = first + j / pool * f.wide() + i * pool + j % pool;
          if (j == 0 || y[here] > y[chosen] || y[here] != y[here]) chosen = here;
          d[here] = 0;
        }
        d[chosen] = grad[i];
      }
    }
    const Int end = high * pool * f.wide();
    for (Int i = 0; i < end; i += kLanes) {
      const Int left = end - i;
      if (left < kLanes)
        store_part(d + i, through(load_part(d + i, left), load_part(y + i, left), (int)f.act), left);
      else
        store(d + i, through(load(d + i), load(y + i), (int)f.act));
    }
    for (Int row = 0; row < high * pool; ++row)
      for (Int i = wide * pool; i < f.wide(); ++i) d[row * f.wide() + i] = 0;
  }
}

enum { kDotRows = BYTES == 64 ? 6 : 3, kDotColumns = 4 };

// sums[filter][entry] += slopes of a filter times a shift of the image, lane by lane.
template <int ROWS>
INLINE void dots(Vec* sums, Int stride, const Real* slopes, Int slope_row, const Real* image, const Int* at, Int count) {
  Vec d[ROWS][kDotColumns];
  for (int i = 0; i < ROWS; ++i)
    for (int j = 0; j < kDotColumns; ++j) d[i][j] = sums[i * stride + j];
  for (Int n = 0; n < count; n += kLanes) {
    Vec right[kDotColumns];
    for (int j = 0; j < kDotColumns; ++j) right[j] = load(image + at[j] + n);
    for (int i = 0; i < ROWS; ++i) {
      const Vec left = load(slopes + i * slope_row + n);
      for (int j = 0; j < kDotColumns; ++j) d[i][j] += left * right[j];
    }
  }
  for (int i = 0; i < ROWS; ++i)
    for (int j = 0; j < kDotColumns; ++j) sums[i * stride + j] = d[i][j];
}

static void add_dots(Vec* sums, Int stride, const Real* slopes, const Real* image, const Int* at, Int count,
                     const Form& f) {
  for (Int e = 0; e < stride; e += kDotColumns) {
    Int o = 0;
    for (; o + kDotRows <= f.filters; o += kDotRows)
      dots<kDotRows>(sums + o * stride + e, stride, slopes + o * f.slopes(), f.slopes(), image, at + e, count);
    for (; o + 2 <= f.filters; o += 2)
      dots<2>(sums + o * stride + e, stride, slopes + o * f.slopes(), f.slopes(), image, at + e, count);
    if (o < f.filters) dots<1>(sums + o * stride + e, stride, slopes + o * f.slopes(), f.slopes(), image, at + e, count);
  }
}

// The gradient of one padded image: every pixel gathers from the slopes, over filters, kernel rows and kernel columns.
static void image_gradient(Real* to, Real* padded, const Real* slopes, const Real* turned, const Int* at, const Form& f) {
  const Int size = f.high() * f.wide();
  for (Int n = 0; n < size; n += kWide) {
    const Finish end = {0, 0, padded + n, size, least(kWide, size - n)};
    const Int sum = f.filters * f.rows * f.columns;
    panel_of(f.channels, sum, turned, sum, 1, slopes + f.margin() + n, at, end);
  }
  for (Int c = 0; c < f.channels; ++c)
    for (Int row = 0; row < f.height; ++row)
      memcpy(to + (c * f.height + row) * f.width, padded + c * size + (row + f.padding) * f.wide() + f.padding,
             f.width * sizeof(Real));
}

// The gradients of kernels, bias and, unless `dx` is null, images; a member's images are added up one after the other.
extern "C" void convolve_back(Int members, Int batch, const Form* form, const Real* x, Int x_member, const Real* weight,
                              const Real* kept, const Real* grad, Real* d_weight, Real* d_bias, Real* dx, Int threads) {
  const Form f = *form;
  const Int entries = f.entries(), stride = (entries + kDotColumns - 1) / kDotColumns * kDotColumns, area = f.rows * f.columns;
  const Int count = (f.out_rows() - 1) * f.wide() + f.out_columns(), inputs = f.channels * f.height * f.width;
  const Int pixels = f.filters * (f.out_rows() / f.pool) * (f.out_columns() / f.pool);
  const Int whole = f.channels * f.high() * f.wide(), slope_size = f.filters * f.slopes(), taps = f.filters * area;
  const Int vectors = f.filters * (stride + 1), reals = f.image() + slope_size + whole + f.channels * taps;
#pragma omp parallel num_threads((int)threads)
  {
    Vec* const sums = (Vec*)own_maps.get(vectors * sizeof(Vec) + reals * sizeof(Real));
    Vec* const shifts = sums + f.filters * stride;
    Real* const image = (Real*)(sums + vectors);
    Real *const slopes = image + f.image(), *const padded = slopes + slope_size, *const turned = padded + whole;
    memset(image, 0, reals * sizeof(Real));
    Int* const at = (Int*)own_places.get((stride + taps) * sizeof(Int));
    Int* const back = at + stride;
    for (Int e = 0; e < stride; ++e) at[e] = 0;
    lay_taps(at, f);
    for (Int e = 0; e < taps; ++e) back[e] = e / area * f.slopes() - e % area / f.columns * f.wide() - e % f.columns;
#pragma omp for schedule(static)
    for (Int k = 0; k < members; ++k) {
      memset(sums, 0, vectors * sizeof(Vec));
      const Real* const own = weight + k * f.filters * entries;
      for (Int e = 0; dx && e < f.channels * taps; ++e)
        turned[e] = own[e % taps / area * entries + e / taps * area + e % area];
      for (Int b = 0; b < batch; ++b) {
        const Int item = k * batch + b;
        lay_image(image, x + k * x_member + b * inputs, f);
        unpooled(slopes, kept + item * f.filters * f.line(), grad + item * pixels, f);
        add_dots(sums, stride, slopes + f.margin(), image, at, count, f);
        for (Int o = 0; o < f.filters; ++o)
          for (Int n = 0; n < count; n += kLanes) shifts[o] += load(slopes + o * f.slopes() + f.margin() + n);
        if (dx) image_gradient(dx + item * inputs, padded, slopes, turned, back, f);
      }
      for (Int o = 0; o < f.filters; ++o) {
        for (Int e = 0; e < entries; ++e) d_weight[(k * f.filters + o) * entries + e] = sum_of(sums[o * stride + e]);
        if (d_bias) d_bias[k * f.filters + o] = sum_of(shifts[o]);
      }
    }
  }
}
