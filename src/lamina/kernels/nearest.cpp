// The nearest of K centroids for each point, and by how much it is nearest, at least; see `nearest.py`.
//
// A panel of points is laid out with its points side by side, so that the lanes of a vector are points: a tile of
// products with a few centroids stays in registers and is compared there with what was nearest before.

#include "panels.cpp"

#if BYTES == 64
enum { kTile = 8 };
#else
enum { kTile = 6 };
#endif

static thread_local Memory panel_of_points;

struct Found {
  Vec best[2], second[2];
  Wholes which[2];
};

// Compare with what was found: the products of rows `first` to `first + ROWS`, -2 mu u + |mu|^2.
template <int ROWS>
INLINE void compare(Int first, Int sum, const Real* rows, const Real* norms, const Real* panel, Found& f) {
  Vec d[ROWS][2];
  EACH(i, ROWS) EACH(v, 2) d[i][v] = all(norms[first + i]);
  rows += first * sum;
  for (Int l = 0; l < sum; ++l) {
    const Vec right[2] = {load(panel + l * kWide), load(panel + l * kWide + kLanes)};
    EACH(i, ROWS) EACH(v, 2) d[i][v] += rows[i * sum + l] * right[v];
  }
  EACH(i, ROWS) EACH(v, 2) {
    const Vec s = d[i][v];
    const Wholes nearer = s < f.best[v];
    f.second[v] = nearer ? f.best[v] : s < f.second[v] ? s : f.second[v];
    f.best[v] = nearer ? s : f.best[v];
    f.which[v] = nearer ? (Wholes){} + (Whole)(first + i) : f.which[v];
  }
}

// Labels and gaps of `count` points, those at `places` if there are any, for each run; a label is -1 where two centroids
// are closer than rounding errors let one tell. matrix: [run][cluster][sum], norms and travel: [run][cluster].
extern "C" void nearest(Int runs, Int clusters, Int sum, Int count, const Real* points, const Real* roots,
                        const Int* places, const Real* matrix, const Real* norms, const Real* travel, const Real* tops,
                        Real product_error, Real relative_error, int* labels, Real* gaps, Int threads) {
  const Real far = INFINITY, shrink = 1 - 2 * relative_error;
#pragma omp parallel for schedule(static) num_threads((int)threads) if (threads > 1)
  for (Int p = 0; p < (count + kWide - 1) / kWide; ++p) {
    const Int start = p * kWide, width = least(kWide, count - start);
    Real* const panel = (Real*)panel_of_points.get(sum * kWide * sizeof(Real));
    Real own[kWide];
    if (places) {
      if (width < kWide) memset(panel, 0, sum * kWide * sizeof(Real));
      for (Int i = 0; i < width; ++i)
        for (Int l = 0; l < sum; ++l) panel[l * kWide + i] = points[places[start + i] * sum + l];
    } else {
      pack(panel, points + start * sum, sum, 1, sum, width);
    }
    for (Int i = 0; i < kWide; ++i) own[i] = i < width ? roots[places ? places[start + i] : start + i] : 0;
    for (Int run = 0; run < runs; ++run) {
      Found f;
      EACH(v, 2) f.best[v] = f.second[v] = all(far), f.which[v] = (Wholes){} - 1;
      const Real *rows = matrix + run * clusters * sum, *squared = norms + run * clusters;
      Int j = 0;
      for (; j + kTile <= clusters; j += kTile) compare<kTile>(j, sum, rows, squared, panel, f);
      for (; j + 2 <= clusters; j += 2) compare<2>(j, sum, rows, squared, panel, f);
      if (j < clusters) compare<1>(j, sum, rows, squared, panel, f);
      Real best[kWide], second[kWide], gap[kWide];
      Whole which[kWide];
      memcpy(best, f.best, sizeof(best)), memcpy(second, f.second, sizeof(second));
      memcpy(which, f.which, sizeof(which));
      for (int i = 0; i < kWide; ++i) {
        const Real both = own[i] + tops[run], error = both * both * product_error;
        which[i] = second[i] - best[i] > 2 * error ? which[i] : -1;
        const Real outer = second[i] + own[i] * own[i] - error, inner = best[i] + own[i] * own[i] + error;
        gap[i] = (Real)sqrt(outer > 0 ? outer : 0) * shrink - (Real)sqrt(inner > 0 ? inner : 0);
      }
      for (Int i = 0; i < width; ++i) {
        const Whole label = which[i];
        labels[run * count + start + i] = (int)label;
        gaps[run * count + start + i] = label < 0 ? -far : gap[i] + travel[run * clusters + label];
      }
    }
  }
}
