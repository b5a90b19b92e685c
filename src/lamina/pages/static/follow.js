// What follows from data points while one of them is dragged, by the formulas that Python uses a moment later.
// Each takes the points and what else it needs, and says where the shapes of the drawing are now, by their titles:
// `paths` and `areas` as places, `at` as the middle of a mark, `colors` as fill or stroke; `words` say the result.
window.LaminaFollow = (() => {
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const mean = (values) => sum(values) / values.length;
  const short = (value) => {  // four digits, and a power of ten as people write it
    const [mantissa, power = ""] = String(Math.abs(value) < 1e-12 ? 0 : Number(value.toPrecision(4))).split("e");
    const raised = [...power.replace("+", "")].map((digit) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(digit)]).join("");
    return (raised ? `${mantissa}·10${raised}` : mantissa).replace("-", "−").replace(/^1·/, "");
  };
  const signed = (value, unit) => `${value <= -1e-12 ? "−" : "+"} ${short(Math.abs(value))}${unit}`;
  const between = (low, high, count) => Array.from({ length: count }, (_, i) => low + (high - low) * i / (count - 1));
  const loss = (points, answer) => sum(points.map(([u, s]) => (answer(u) - s) ** 2)) / (2 * points.length);
  const dot = (a, b) => sum(a.map((value, i) => value * b[i]));

  // The shortest weights that solve rows · W = values best, as Python finds them: columns (of a wide matrix the rows) are
  // turned in pairs until all are orthogonal, their lengths are the singular values, and those of rounding count as 0.
  const solve = (rows, values) => {
    const wide = rows.length < rows[0].length, U = wide ? rows.map((row) => [...row]) : rows[0].map((_, j) => rows.map((row) => row[j]));
    const V = U.map((_, i) => U.map((_, j) => Number(i === j)));
    for (let sweep = 0, turned = true; turned && sweep < 30; sweep++) {
      turned = false;
      for (let j = 1; j < U.length; j++) {
        for (let i = 0; i < j; i++) {
          const [first, second, both] = [dot(U[i], U[i]), dot(U[j], U[j]), dot(U[i], U[j])];
          if (Math.abs(both) <= 1e-15 * Math.sqrt(first * second)) continue;
          const ratio = (second - first) / (2 * both), tan = (ratio < 0 ? -1 : 1) / (Math.abs(ratio) + Math.hypot(1, ratio)), cos = 1 / Math.hypot(1, tan);
          for (const [a, b] of [[U[i], U[j]], [V[i], V[j]]]) a.forEach((value, k) => { [a[k], b[k]] = [cos * (value - tan * b[k]), cos * (tan * value + b[k])]; });
          turned = true;
        }
      }
    }
    const sizes = U.map((u) => Math.hypot(...u)), least = Number.EPSILON * Math.max(rows.length, rows[0].length) * Math.max(...sizes);
    const [from, to] = wide ? [V, U] : [U, V], parts = sizes.map((size, j) => size > least ? dot(from[j], values) / size / size : 0);
    return to[0].map((_, k) => sum(parts.map((part, j) => part * to[j][k])));
  };

  // The line of least squares, and how far the points are from the reader's own.
  const line = (points, { yours, ends }) => {
    const [offset, slope] = solve(points.map(([u]) => [1, u]), points.map(([, s]) => s)), own = (u) => yours[0] + yours[1] * u;
    return {
      paths: {
        "the best line": ends.map((u) => [u, offset + slope * u]),
        ...Object.fromEntries(points.map(([u, s], i) => [`error ${i + 1}`, [[u, own(u)], [u, s]]])),
      },
      words: `best line: ${short(offset)} ${signed(slope, " u₂")}, loss ${short(loss(points, (u) => offset + slope * u))}; your line: loss ${short(loss(points, own))}`,
    };
  };

  // A polynomial of least squares, with a penalty on the squares of its weights.
  const polynomial = (points, { degree, penalty, ends }) => {
    const powers = (u) => Array.from({ length: degree + 1 }, (_, j) => u ** j), rows = points.map(([u]) => powers(u));
    const shrink = Math.sqrt(2 * points.length * penalty), more = penalty ? rows[0].map((_, i) => rows[0].map((_, j) => i === j ? shrink : 0)) : [];
    const W = solve([...rows, ...more], [...points.map(([, s]) => s), ...more.map(() => 0)]), answer = (u) => dot(powers(u), W);
    return {
      paths: { fit: between(...ends, 201).map((u) => [u, answer(u)]) },
      words: `degree ${degree}: error ${short(loss(points, answer))} at the points, largest weight ${short(Math.max(...W.map(Math.abs)))}`,
    };
  };

  // k-means from the same first centroids, as many half steps as are shown.
  const means = (points, { firsts, steps, colors }) => {
    const apart = ([a, b], [c, d]) => (a - c) ** 2 + (b - d) ** 2, trails = firsts.map((center) => [center]);
    let centers = firsts, labels = null;
    for (let step = 0; step < steps; step++) {
      if (step % 2 === 0) labels = points.map((point) => centers.reduce((best, center, j) => apart(point, center) < apart(point, centers[best]) ? j : best, 0));
      else {
        centers = centers.map((center, j) => {
          const own = points.filter((_, i) => labels[i] === j);
          return own.length ? [mean(own.map(([x]) => x)), mean(own.map(([, y]) => y))] : center;
        });
        centers.forEach((center, j) => trails[j].push(center));
      }
    }
    const each = (make) => Object.fromEntries(points.map((point, i) => make(point, i + 1, labels[i])));
    const marks = Object.fromEntries(centers.map((center, j) => [`centroid ${j + 1}`, center]));
    if (!labels) return { at: marks, words: "no assignment yet" };
    const total = sum(points.map((point, i) => apart(point, centers[labels[i]])));
    return {
      at: marks,
      paths: { ...each((point, i, j) => [`tie ${i}`, [point, centers[j]]]), ...Object.fromEntries(trails.map((trail, j) => [`path of centroid ${j + 1}`, trail])) },
      colors: { ...each((_, i, j) => [`point ${i}`, { fill: colors[j].point }]), ...each((_, i, j) => [`tie ${i}`, { stroke: colors[j].tie }]) },
      words: `distortion ${total.toFixed(2)} after half step ${steps}`,
    };
  };

  // The two directions in which a cloud varies most.
  const directions = (points) => {
    const middle = [0, 1].map((side) => mean(points.map((point) => point[side])));
    const [xx, xy, yy] = [[0, 0], [0, 1], [1, 1]].map(([a, b]) => mean(points.map((point) => (point[a] - middle[a]) * (point[b] - middle[b]))));
    const turn = Math.atan2(2 * xy, xx - yy) / 2, half = (xx + yy) / 2, wide = Math.hypot((xx - yy) / 2, xy);
    const arm = (variance, angle) => [-1, 1].map((side) => [
      middle[0] + side * 2 * Math.sqrt(Math.max(0, variance)) * Math.cos(angle), middle[1] + side * 2 * Math.sqrt(Math.max(0, variance)) * Math.sin(angle)]);
    return {
      paths: { "direction 1": arm(half + wide, turn), "direction 2": arm(half - wide, turn + Math.PI / 2) },
      words: `variance ${short(half + wide)} along direction 1, ${short(half - wide)} along direction 2`,
    };
  };

  // One neuron with the sigmoid that descends on half the mean squared error.
  const neuron = (points, { rate, steps, ends }) => {
    let [W, b] = [0, 0];
    const answer = (u) => 1 / (1 + Math.exp(-(W * u + b)));
    for (let step = 0; step < steps; step++) {
      const slopes = points.map(([u, s]) => { const y = answer(u); return [u, (y - s) * y * (1 - y)]; });
      [W, b] = [W - rate * mean(slopes.map(([u, d]) => d * u)), b - rate * mean(slopes.map(([, d]) => d))];
    }
    return {
      paths: { "the answer": between(...ends, 161).map((u) => [u, answer(u)]) },
      words: `after ${steps} steps W = ${short(W)}, b = ${short(b)}, loss ${short(loss(points, answer))}`,
    };
  };

  // The part of a plot on one side of the line w1 x + w2 y + b = 0, and the line in it.
  const side = ([w1, w2], b, [left, right], [low, high]) => {
    const corners = [[left, low], [right, low], [right, high], [left, high]], height = ([x, y]) => w1 * x + w2 * y + b, area = [], cut = [];
    corners.forEach((corner, i) => {
      const next = corners[(i + 1) % 4], [before, after] = [height(corner), height(next)];
      if (before >= 0) area.push(corner);
      if ((before >= 0) !== (after >= 0)) {
        const part = before / (before - after), place = corner.map((from, k) => from + part * (next[k] - from));
        area.push(place);
        cut.push(place);
      }
    });
    return { areas: { fires: area }, paths: { border: cut } };
  };

  // The perceptron rule, at most so many times through the examples.
  const rule = (points, { targets, weight, bias, rate, epochs, edge }) => {
    let [W, b] = [[...weight], bias];
    const fires = (u) => Number(dot(W, u) + b >= 0), wrong = () => points.filter((u, i) => fires(u) !== targets[i]).length;
    for (let epoch = 0; epoch < epochs && wrong(); epoch++) {
      points.forEach((u, i) => {
        const correction = rate * (targets[i] - fires(u));
        W = W.map((value, k) => value + correction * u[k]);
        b += correction;
      });
    }
    return { ...side(W, b, edge, edge), words: `W = (${W.map(short).join(", ")}), b = ${short(b)}: ${wrong()} of ${points.length} wrong` };
  };

  return { line, polynomial, means, directions, neuron, rule, side, solve, short };
})();
