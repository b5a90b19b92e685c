// Two trained networks in plain JavaScript, for a book without a server: LeNet-5 reads a drawing, an encoder-decoder with
// GRU cells translates. Each function is the formula of the library's function of the same work; a test holds the numbers
// together. Weights come from `networks.js` as the bytes of float32 in base64.
window.LaminaForward = (() => {
  const even = (x) => { const down = Math.floor(x), rest = x - down; return rest < 0.5 || (rest === 0.5 && down % 2 === 0) ? down : down + 1; };
  const floats = (text) => {
    const raw = atob(text), bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    return new Float32Array(bytes.buffer);
  };
  const loaded = new Map();
  const network = (name) => {
    if (!loaded.has(name)) {
      const { weights, ...rest } = window.LaminaNetworks[name];
      loaded.set(name, { ...rest, weights: Object.fromEntries(Object.entries(weights).map(([key, text]) => [key, floats(text)])) });
    }
    return loaded.get(name);
  };

  // W x + b, W row by row.
  const dense = (x, W, b) => Float64Array.from(b, (bias, i) => {
    let sum = bias;
    for (let j = 0, at = i * x.length; j < x.length; j++) sum += W[at + j] * x[j];
    return sum;
  });
  const relu = (x) => x.map((value) => Math.max(0, value));
  const sigmoid = (z) => 1 / (1 + Math.exp(-z));
  const softmax = (z) => {
    const most = Math.max(...z), powers = Float64Array.from(z, (value) => Math.exp(value - most)), sum = powers.reduce((a, b) => a + b, 0);
    return powers.map((power) => power / sum);
  };

  // Maps {data, count, side} of squares; kernels of 5 x 5, zeros around.
  const convolution = ({ data, count, side }, W, b, padding, size = 5) => {
    const out = side + 2 * padding - size + 1, made = new Float64Array(b.length * out * out);
    for (let k = 0; k < b.length; k++) for (let y = 0; y < out; y++) for (let x = 0; x < out; x++) {
      let sum = b[k];
      for (let c = 0; c < count; c++) for (let i = 0; i < size; i++) for (let j = 0; j < size; j++) {
        const row = y + i - padding, column = x + j - padding;
        if (row >= 0 && row < side && column >= 0 && column < side) sum += W[((k * count + c) * size + i) * size + j] * data[(c * side + row) * side + column];
      }
      made[(k * out + y) * out + x] = sum;
    }
    return { data: made, count: b.length, side: out };
  };
  const detector = (maps) => ({ ...maps, data: relu(maps.data) });
  const pooling = ({ data, count, side }) => {
    const out = side >> 1, made = new Float64Array(count * out * out);
    for (let c = 0; c < count; c++) for (let y = 0; y < out; y++) for (let x = 0; x < out; x++) {
      const at = (c * side + 2 * y) * side + 2 * x;
      made[(c * out + y) * out + x] = Math.max(data[at], data[at + 1], data[at + side], data[at + side + 1]);
    }
    return { data: made, count, side: out };
  };

  // Shrink rows of pixels, each new one the mean of what it covers, as torch does with antialias=True.
  const shrink = (data, rows, columns, out, along) => {
    const size = along ? columns : rows, scale = size / out, support = Math.max(1, scale);
    const made = new Float64Array(along ? rows * out : out * columns);
    for (let k = 0; k < out; k++) {
      const center = scale * (k + 0.5), from = Math.max(0, Math.trunc(center - support + 0.5)), to = Math.min(size, Math.trunc(center + support + 0.5));
      const shares = [];
      for (let i = from; i < to; i++) shares.push(Math.max(0, 1 - Math.abs((i - center + 0.5) / support)));
      const total = shares.reduce((a, b) => a + b, 0);
      for (let other = 0; other < (along ? rows : columns); other++) {
        let sum = 0;
        for (let i = from; i < to; i++) sum += shares[i - from] / total * (along ? data[other * columns + i] : data[i * columns + other]);
        made[along ? other * out + k : k * columns + other] = sum;
      }
    }
    return made;
  };
  // The form of MNIST: cut out, the longer side 20 pixels, the center of mass in the middle of 28 x 28. Null without ink.
  const asMnist = (ink, side) => {
    const row = [], column = [];
    for (let y = 0; y < side; y++) for (let x = 0; x < side; x++) if (ink[y * side + x] > 0.05) { row.push(y); column.push(x); }
    if (!row.length) return null;
    const top = Math.min(...new Set(row)), left = Math.min(...new Set(column)), tall = Math.max(...new Set(row)) - top + 1, wide = Math.max(...new Set(column)) - left + 1;
    const cut = new Float64Array(tall * wide);
    for (let y = 0; y < tall; y++) for (let x = 0; x < wide; x++) cut[y * wide + x] = ink[(top + y) * side + left + x];
    const longer = Math.max(tall, wide), height = Math.max(1, even(tall * 20 / longer)), width = Math.max(1, even(wide * 20 / longer));
    const small = shrink(shrink(cut, tall, wide, width, true), tall, width, height, false).map((value) => even(even(255000 * Math.min(1, Math.max(0, value))) / 1000) / 255);
    let mass = 0, sumY = 0, sumX = 0;
    small.forEach((value, at) => { mass += value; sumY += value * Math.floor(at / width); sumX += value * (at % width); });
    const middle = (sum) => even(even(1e4 * (13.5 - sum / mass)) / 1e4);  // between two pixels the last bits must not choose
    const down = Math.min(Math.max(0, middle(sumY)), 28 - height), right = Math.min(Math.max(0, middle(sumX)), 28 - width);
    const made = new Float64Array(784);
    small.forEach((value, at) => { made[(down + Math.floor(at / width)) * 28 + right + at % width] = value; });
    return made;
  };
  // What LeNet-5 makes of 28 x 28 pixels from 0 to 1: every layer by its name, and the probabilities.
  const lenet = (digit) => {
    const { weights: w, mean, std } = network("lenet5-mnist");
    const input = { data: Float64Array.from(digit, (value) => (even(255 * value) / 255 - mean) / std), count: 1, side: 28 };
    const layers = {};
    layers["features.0"] = convolution(input, w["features.0.weight"], w["features.0.bias"], 2);
    layers["features.1"] = detector(layers["features.0"]);
    layers["features.2"] = pooling(layers["features.1"]);
    layers["features.3"] = convolution(layers["features.2"], w["features.3.weight"], w["features.3.bias"], 0);
    layers["features.4"] = detector(layers["features.3"]);
    layers["features.5"] = pooling(layers["features.4"]);
    const first = relu(dense(layers["features.5"].data, w["classifier.1.weight"], w["classifier.1.bias"]));
    const second = relu(dense(first, w["classifier.4.weight"], w["classifier.4.bias"]));
    const outputs = dense(second, w["classifier.7.weight"], w["classifier.7.bias"]);
    return { layers, outputs, probabilities: softmax(outputs) };
  };

  // One step of a GRU as the notes write it: the gate resets the state before the product.
  const gru = (u, h, W, b) => {
    const n = h.length, both = Float64Array.of(...h, ...u), wide = both.length;
    const product = (x, row) => { let sum = b[row]; for (let j = 0, at = row * wide; j < wide; j++) sum += W[at + j] * x[j]; return sum; };
    const reset = Float64Array.of(...h, ...u);
    for (let i = 0; i < n; i++) reset[i] *= sigmoid(product(both, i));
    return h.map((old, i) => {
      const open = sigmoid(product(both, n + i));
      return open * Math.tanh(product(reset, 2 * n + i)) + (1 - open) * old;
    });
  };
  const WORD = /[\p{L}\p{N}\p{M}_]+(?:(?:(?<=\d)[.,:](?=\d)|['’‐‑-](?=[\p{L}\p{N}\p{M}_]))[\p{L}\p{N}\p{M}_]+)*|[^\p{L}\p{N}\p{M}_\s]/gu;
  const split = (text) => text.normalize("NFC").match(WORD) || [];
  const PAD = 0, UNKNOWN = 1, START = 2, END = 3, SPECIAL = ["<pad>", "<unk>", "<start>", "<end>"];
  const LEFT = new Set(".,;:!?)]}%°…’‰"), ENDS = new Set(".!?…");
  const display = (words, { forms, capital }) => {
    let fresh = true, text = "";
    for (const folded of words) {
      let word = forms[folded] ?? folded;
      const begins = fresh && /^[\p{L}\p{N}]/u.test(word);
      if (begins && capital) word = word[0].toUpperCase() + word.slice(1);
      text += !text || LEFT.has(word) ? word : ` ${word}`;
      fresh = (fresh && !begins) || ENDS.has(word);
    }
    return text;
  };
  // Translate a sentence, the most probable word at each step; every state and every probability on the way.
  const translate = (text, candidates = 3) => {
    const { weights: w, hidden, embedding, source, target } = network("seq2seq-phrasebook");
    const words = split(text), index = new Map(source.words.map((word, i) => [word, i + SPECIAL.length]));
    const tokens = [...words.map((word) => index.get(word.toLowerCase().normalize("NFC")) ?? UNKNOWN), END];
    const vector = (table, token) => table.subarray(token * embedding, (token + 1) * embedding);
    const known = (list, token) => SPECIAL[token] ?? list[token - SPECIAL.length];
    let h = new Float64Array(hidden), before = START;
    const read = tokens.map((token) => (h = gru(vector(w["source_encoding.weight"], token), h, w["encoder.cells.0.weight"], w["encoder.cells.0.bias"])));
    const steps = [], states = [], written = [];
    for (let step = 0; step < 2 * tokens.length + 20; step++) {
      h = gru(vector(w["target_encoding.weight"], before), h, w["decoder.cells.0.weight"], w["decoder.cells.0.bias"]);
      const logits = dense(h, w["output.weight"], w["output.bias"]);
      logits[PAD] = logits[START] = -Infinity;
      const shares = softmax(logits), order = [...shares.keys()].sort((a, b) => shares[b] - shares[a]).slice(0, candidates);
      steps.push({ reads: known(target.words, before), writes: known(target.words, order[0]), best: order.map((i) => [known(target.words, i), shares[i]]) });
      states.push(h);
      before = order[0];
      if (before === END) break;
      written.push(known(target.words, before));
    }
    const unknown = words.filter((word, i) => tokens[i] === UNKNOWN);
    let at = 0;
    const answer = display(written, target).replaceAll("<unk>", () => unknown[at++] ?? "<unk>");
    return { words: tokens.map((token) => known(source.words, token)), readStates: read, steps, states, text: answer, unknown, ended: before === END };
  };
  return { asMnist, lenet, translate, gru, softmax, split };
})();
