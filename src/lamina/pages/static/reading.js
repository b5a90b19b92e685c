// What a book computes itself: a drawn digit read by LeNet-5, and a typed sentence translated; `forward.js` has the networks.
window.LaminaOwn = (() => {
  const figure = (made, table) => made("figure", { className: "lamina-figure lamina-own" }, table);
  const number = (value, digits = 4) => value.toFixed(digits);
  const share = (p) => p > 0.999 ? "over 99.9%" : p < 0.001 ? "under 0.1%" : `${(100 * p).toFixed(1)}%`;  // as `kit.share`
  const facts = (made, values) => made("dl", { className: "lamina-facts" }, ...Object.entries(values).map(([name, value]) =>
    made("div", {}, made("dt", { textContent: name }), made("dd", { textContent: value }))));
  const rows = (made, head, body, right) => {
    const cell = (name) => (value, i) => made(name, { textContent: value, className: right.includes(i) ? "right" : "" });
    return made("div", { className: "lamina-table" }, made("table", {}, made("thead", {}, made("tr", {}, ...head.map(cell("th")))),
      made("tbody", {}, ...body.map((line) => made("tr", {}, ...line.map(cell("td")))))));
  };
  // Numbers as a picture of so many columns, one pixel each.
  const picture = (columns, height, color) => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [columns.length, height];
    const pen = canvas.getContext("2d"), image = pen.createImageData(columns.length, height);
    columns.forEach((column, x) => column.forEach((value, y) => image.data.set([...color(value), 255].slice(0, 4), 4 * (y * columns.length + x))));
    pen.putImageData(image, 0, 0);
    return canvas;
  };
  // As `drawing.palettes.signed`: red above zero, blue below, and zero is the paper.
  const signed = () => {
    const style = getComputedStyle(document.documentElement);
    const [above, below] = ["--lamina-above", "--lamina-below"].map((name) => style.getPropertyValue(name).trim()).map((full) => [1, 3, 5].map((at) => parseInt(full.slice(at, at + 2), 16)));
    return (value) => [...(value >= 0 ? above : below), Math.round(255 * Math.min(1, Math.abs(value)))];
  };
  // All maps of a layer, each bright where it is large, as `_maps.passed` draws them.
  const maps = (made, { data, count, side }) => made("div", {}, ...Array.from({ length: count }, (_, map) => {
    const own = data.slice(map * side * side, (map + 1) * side * side), low = Math.min(...own), span = Math.max(...own) - low || 1;
    const columns = Array.from({ length: side }, (_, x) => Array.from({ length: side }, (_, y) => own[side * y + x]));
    return picture(columns, side, (value) => Array(3).fill(Math.round(255 * (value - low) / span)));
  }));
  const stays = (made, ...words) => {
    if (document.querySelector(".lamina-stays")) return;
    const lab = document.querySelector("#root .lamina-lab");
    lab.append(made("p", { className: "lamina-note warn lamina-stays" }, ...words));
  };

  const read = (value, { made }) => {
    const raw = atob(value.ink), ink = Float64Array.from(raw, (letter) => Math.fround(letter.charCodeAt(0) / 255));
    const digit = window.LaminaForward.asMnist(ink, value.side), lab = document.querySelector("#root .lamina-lab");
    const strip = lab.querySelector(".lamina-strip");
    if (!digit) { strip.replaceChildren(facts(made, { reads: "–" })); return; }
    const { probabilities: p, layers } = window.LaminaForward.lenet(digit), order = [...p.keys()].sort((a, b) => p[b] - p[a]);
    const bars = made("div", { className: "lamina-bars" });
    for (const i of p.keys()) {
      const bar = made("i");
      bar.style.width = `${100 * p[i]}%`;
      bars.append(made("div", { className: i === order[0] ? "best" : "" }, made("b", { textContent: i }), made("span", {}, bar), made("output", { textContent: number(p[i]) })));
    }
    bars.setAttribute("role", "img");
    bars.setAttribute("aria-label", `LeNet-5 reads a ${order[0]}, with probability ${number(p[order[0]])}.`);
    const columns = Array.from({ length: 28 }, (_, x) => Array.from({ length: 28 }, (_, y) => digit[28 * y + x]));
    const image = picture(columns, 28, (ink) => Array(3).fill(Math.round(255 * ink)));
    image.className = "lamina-pixels";
    image.setAttribute("role", "img");
    image.setAttribute("aria-label", "The digit with 28 x 28 pixels, as the network gets it");
    // The square to draw in stays; the pictures beside it are the answer.
    const [chart, small, ...rest] = [...lab.querySelectorAll(".lamina-stage > div")].filter((part) => !part.querySelector("marimo-anywidget"));
    chart?.replaceChildren(figure(made, bars));
    small?.replaceChildren(made("figure", { className: "lamina-figure" }, image, made("figcaption", { textContent: "This is your drawing, as the network gets it, computed in this browser." })));
    rest[0]?.replaceChildren(made("div", { className: "lamina-maps" }, ...["features.1", "features.4"].map((name) => maps(made, layers[name]))));
    strip.replaceChildren(facts(made, Object.fromEntries(["reads", "or", "or even"].map((place, i) => [place, `${order[i]}: ${share(p[order[i]])}`]))));
    stays(made, "Further down, the pictures are those of the recorded digit; ", made("code", { textContent: "lamina notes" }), " makes them from your drawing.");
  };

  const translate = (text, { made }) => {
    const found = window.LaminaForward.translate(text.slice(0, 400)), lab = document.querySelector("#root .lamina-lab");
    if (found.words.length > 41) return;
    const lines = found.steps.map((step, i) => [i + 1, step.reads, step.writes, number(step.best[0][1]),
      step.best.slice(1).filter(([, p]) => p >= 0.001).map(([word, p]) => `${word} ${number(p, 3)}`).join(" · ")]);
    const states = (title, columns, words) => made("div", {}, made("p", { textContent: title }), picture(columns, columns[0].length, signed()), made("p", { className: "words" }, ...words.map((word) => made("span", { textContent: word }))));
    const mean = Math.exp(found.steps.reduce((sum, step) => sum + Math.log(step.best[0][1]), 0) / found.steps.length);
    const unknown = found.unknown.length ? [made("p", { className: "lamina-note warn", textContent: `Not in its dictionary: ${found.unknown.join(", ")}. It reads <unk> there and has to guess.` })] : [];
    lab.querySelector(".lamina-strip")?.replaceChildren(facts(made, { German: found.text, "words read": found.words.length - 1, "words written": found.steps.length - found.ended,
      "ended by itself": found.ended ? "yes" : "no", "probability of a word": number(mean) }));
    const stage = lab.querySelector(".lamina-stage");
    stage.dataset.count = 1;
    stage.replaceChildren(made("div", {}, figure(made, made("div", { className: "lamina-states" }, states("states of the encoder, word by word", found.readStates, found.words),
      states("states of the decoder, word by word", found.states, found.steps.map((step) => step.writes))))));
    const more = lab.querySelector(".lamina-more") ?? lab.appendChild(made("div", { className: "lamina-more" }));
    more.replaceChildren(...unknown, rows(made, ["t", "reads", "writes", "p", "or"], lines, [0, 3]),
      made("p", { className: "lamina-note", textContent: "Computed in this browser with one beam, from the weights that come with the package." }));
  };
  return { "ch3/lenet": { pad: read }, "ch5/translation": { sentence: translate } };
})();
