// A page without a server: marimo's elements in plain HTML, and what the page showed where each control was recorded.
// One control is moved at a time; the others go back to where they begin, and the page says so. `labs.js` and `hands.js`
// find the same elements and events as on a live page. Loaded before them, so that a place that was not recorded becomes
// the nearest one before anybody hears of it.
window.LaminaBook = (() => {
  const moves = JSON.parse(document.getElementById("lamina-moves")?.textContent || "{}");
  const keyOf = (widget) => widget.closest("marimo-ui-element")?.dataset.key || "";
  const given = (widget, name) => JSON.parse(widget.dataset[name] ?? "null");
  const LIVE = "Live in `lamina notes`";
  const marked = (text) => text.split("`").map((part, i) => i % 2 ? Object.assign(document.createElement("code"), { textContent: part }) : part);
  const made = (name, properties = {}, ...children) => {
    const node = Object.assign(document.createElement(name), properties);
    node.append(...children);
    return node;
  };

  const own = new Map(Object.entries(window.LaminaOwn?.[document.body.dataset.page] || {}));  // controls that `reading.js` answers

  // Words at the bottom of the window, for what a book cannot do.
  const say = (text) => {
    document.querySelector(".lamina-said")?.remove();
    const box = made("div", { className: "lamina-said" }, ...marked(text));
    box.setAttribute("role", "status");
    document.body.append(box);
    setTimeout(() => box.remove(), 9000);
  };

  // What was recorded: pieces of markup, each once, and for every control and cell the numbers of its pieces.
  let pack = null;
  const recorded = () => pack ??= (async () => {
    const bytes = Uint8Array.from(atob(window.LaminaStates), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  })();
  const cellNode = (cell) => document.querySelector(`#root > [data-cell="${cell}"] .output`);
  const first = new Map();  // what a cell showed before a control was moved
  let current = "";

  // Change a tree into another one and keep what is the same, so that a slider stays in the reader's hand.
  const isWidget = (node) => node.localName === "marimo-ui-element";
  const alike = (a, b) => {
    if (a.nodeType !== b.nodeType || a.nodeName !== b.nodeName) return false;
    if (isWidget(a)) return a.dataset.key === b.dataset.key && [...b.firstElementChild.attributes].every(({ name, value }) => a.firstElementChild.getAttribute(name) === value);
    return a.localName !== "marimo-tex" || a.dataset.tex === b.textContent;
  };
  const morph = (from, to) => {
    if (from.nodeType !== 1) { if (from.data !== to.data) from.data = to.data; return; }
    if (isWidget(from) || from.localName === "marimo-tex") return;
    for (const { name } of [...from.attributes]) if (!to.hasAttribute(name) && name !== "open") from.removeAttribute(name);
    for (const { name, value } of to.attributes) if (from.getAttribute(name) !== value) from.setAttribute(name, value);
    const old = [...from.childNodes], fresh = [...to.childNodes];
    fresh.forEach((node, place) => {
      const before = old[place];
      if (!before) from.append(node);
      else if (alike(before, node)) morph(before, node);
      else before.replaceWith(node);
    });
    for (const extra of old.slice(fresh.length)) extra.remove();
  };
  let turn = 0;
  const put = (cell, html) => {
    turn = 1 - turn;
    const node = cellNode(cell), fresh = node.cloneNode(false);
    fresh.innerHTML = html;
    morph(node, fresh);
    // What a reader has changed by hand is over: another text makes `hands.js` begin anew, a space more or less.
    for (const box of node.querySelectorAll("[data-hands]")) box.dataset.hands = box.dataset.hands.trim() + " ".repeat(turn);
  };
  const widgets = () => [...document.querySelectorAll("#root marimo-ui-element > *")];
  const tell = (widget, kind, value, bubbles, quiet) => widget.dispatchEvent(
    new CustomEvent(kind, { bubbles, composed: true, detail: { value, element: widget, quiet } }));
  const apply = async (key, place) => {
    const { pieces, cells } = await recorded(), mine = cells[key] || {};
    if (current !== key) {
      for (const [cell, html] of first) if (!(cell in mine)) put(cell, html);
      for (const cell of first.keys()) if (!(cell in mine)) first.delete(cell);
      let moved = false;
      for (const widget of widgets()) {
        const start = given(widget, "initialValue");
        if (keyOf(widget) === key || !moves[keyOf(widget)] || widget.closest(".lamina-play")) continue;
        if (JSON.stringify(window.Lamina.value(widget)) === JSON.stringify(start)) continue;
        tell(widget, "marimo-value-update", start, false, true);
        tell(widget, "marimo-value-input", start, true, true);
        moved = true;
      }
      if (moved) say("In this book, controls move one at a time: the others are back where they started. To move them together, run `lamina notes`.");
      current = key;
    }
    for (const [cell, rows] of Object.entries(mine)) {
      if (!first.has(cell)) first.set(cell, cells[""][cell].map((i) => pieces[i]).join(""));
      put(cell, rows[place].map((i) => pieces[i]).join(""));
    }
    document.dispatchEvent(new CustomEvent("lamina-moved", { detail: { key, place } }));
  };

  // A run is played frame by frame.
  const runs = new Map();
  const button = (key) => document.querySelector(`#root marimo-ui-element[data-key="${key}"]`)?.closest(".lamina-play")?.querySelector(".main");
  const paused = (key) => {
    const main = button(key), parts = main?.querySelectorAll("span");
    if (!parts || runs.get(key).frame >= moves[key].values.length - 1) return;
    main.dataset.press = "play";
    [parts[0].textContent, parts[1].textContent] = ["▶", "Continue"];
    for (const other of main.parentElement.querySelectorAll("button:disabled")) other.disabled = false;
  };
  const stop = (key) => { const run = runs.get(key); if (run) { clearInterval(run.clock); run.clock = 0; } };
  const step = async (key) => {
    const run = runs.get(key), last = moves[key].values.length - 1;
    run.frame = Math.min(last, run.frame + 1);
    await apply(key, run.frame);
    if (run.frame === last) stop(key);
  };
  const play = async (key, verb) => {
    for (const other of runs.keys()) if (other !== key) stop(other);
    if (!runs.has(key) || current !== key) runs.set(key, { frame: -1, clock: 0 });
    const run = runs.get(key);
    stop(key);
    if (verb === "again" || run.frame >= moves[key].values.length - 1) run.frame = -1;
    if (verb === "pause") return paused(key);
    await step(key);
    if (verb === "step") return paused(key);
    run.clock = setInterval(() => step(key), 450);
  };

  const nearest = (values, value) => {
    const same = values.findIndex((each) => JSON.stringify(each) === JSON.stringify(value));
    if (same >= 0 || typeof value !== "number") return same;
    return values.reduce((best, each, place) => Math.abs(each - value) < Math.abs(values[best] - value) ? place : best, 0);
  };
  addEventListener("marimo-value-input", (event) => {
    const { value, element, quiet } = event.detail, key = keyOf(element), move = moves[key];
    if (quiet) return;
    if (own.has(key)) return void own.get(key)(value, { made, say });
    if (!move) return say("This is computed in your browser alone; the rest of the page stays as it was recorded. For the live page, run `lamina notes`.");
    if (move.kind === "frames") return void play(key, String(value).split(" ")[0]);
    const place = move.kind === "press" ? 0 : nearest(move.values, value);
    if (place < 0) return say("This was not recorded. For the live page, run `lamina notes`.");
    if (move.kind === "place" && JSON.stringify(move.values[place]) !== JSON.stringify(value)) {
      event.stopImmediatePropagation();
      tell(element, "marimo-value-update", move.values[place], false);
      tell(element, "marimo-value-input", move.values[place], true);
      return;
    }
    for (const other of runs.keys()) stop(other);
    apply(key, place);
  }, true);
  // A disc on a picture moves two controls at once, which no recording has; a data point with a formula needs none.
  document.addEventListener("pointerdown", (event) => {
    const box = event.target.closest?.(".lamina-svg[data-hands]");
    if (!box || window.LaminaHands.answers(box, event)) return;
    event.stopImmediatePropagation();
    say("You can drag this in `lamina notes`; here, the controls beside the picture move it, one at a time.");
  }, true);

  // marimo's elements: the label in the document, where formulas have their style, the control in a shadow root.
  const STYLE = `:host { display: block; width: 100%; } :host([hidden]) { display: none; }
    .row { display: flex; gap: 10px; align-items: center; } input[type=checkbox] { accent-color: var(--p-link); }
    input[type=range] { flex: 1; min-width: 0; accent-color: var(--p-link); height: 28px; margin: 0; }
    output.paper { display: none; }
    output { font-variant-numeric: tabular-nums; min-width: 3ch; text-align: right; }
    select, textarea, input:not([type=range], [type=checkbox]) { font: inherit; color: var(--p-ink); background: var(--p-card); border: 1px solid var(--p-line);
      border-radius: 8px; padding: 5px 8px; width: 100%; box-sizing: border-box; }
    button { font: inherit; color: var(--p-ink); background: var(--p-card); border: 1px solid var(--p-line); border-radius: 9px; padding: 6px 12px; cursor: pointer; }
    :is(input, select, textarea, button):disabled { opacity: .55; cursor: not-allowed; }
    small { color: var(--p-faint); font-size: .78rem; } label { display: block; } :focus-visible { outline: 3px solid var(--p-link); outline-offset: 2px; }
    @media print { :host, label, .row { display: inline; } input:not([type=checkbox]), button, small { display: none; } select { display: none; } output, output.paper { display: inline; font-weight: 640; margin-left: .5em; } }`;
  const shown = (value) => typeof value === "number" ? String(Number(value.toPrecision(6))).replace("-", "−") : value;
  class Control extends HTMLElement {
    connectedCallback() {
      if (this.shadowRoot || !this.isConnected) return;
      const move = this.move = moves[keyOf(this)], label = given(this, "label");
      const root = this.attachShadow({ mode: "open" });
      root.append(made("style", { textContent: STYLE }));
      if (label) this.append(made("span", { innerHTML: label, className: "lamina-label" }));
      const live = !move && !own.has(keyOf(this)) && this.localName !== "marimo-download", words = (label || "").replace(/<[^>]*>/g, " ").replace(/\|\|[()[\]]/g, " ").replace(/\s+/g, " ").trim();
      const control = this.build(root);
      control?.setAttribute("aria-label", words || control.textContent || "control");
      if (control && live) control.disabled = true;
      if (live && this.build !== Control.prototype.build) root.append(made("small", {}, ...marked(LIVE)));
      this.addEventListener("marimo-value-update", (event) => this.show(event.detail.value));
      this.show(given(this, "initialValue"));
    }
    build(root) { root.append(made("slot"), made("small", {}, ...marked(`${this.localName.replace("marimo-", "")}: ${LIVE.toLowerCase()}`))); }
    show() {}
    send(value) { tell(this, "marimo-value-input", value, true); }
  }
  const define = (name, build, show = () => {}) => customElements.define(`marimo-${name}`, class extends Control {
    build(root) { return build.call(this, root); }
    show(value) { show.call(this, value); }
  });
  const slider = [function (root) {
    const values = this.move?.values ?? [given(this, "initialValue")], names = given(this, "steps") || [];
    this.input = made("input", { type: "range", min: 0, max: values.length - 1, step: 1 });
    this.input.setAttribute("role", "slider");
    this.output = made("output");
    this.words = (value) => shown(names.length ? names[value] : value);
    this.input.addEventListener("input", () => { const value = values[this.input.valueAsNumber]; this.show(value); this.send(value); });
    root.append(made("label", {}, made("slot")), made("div", { className: "row" }, this.input, this.output));
    return this.input;
  }, function (value) {
    const values = this.move?.values ?? [value], place = Math.max(0, nearest(values, value));
    this.input.value = place;
    this.output.textContent = this.words(values[place]);
    this.input.setAttribute("aria-valuenow", this.words(values[place]).replace("−", "-"));
  }];
  define("slider", ...slider);
  define("number", ...slider);
  define("dropdown", function (root) {
    const options = this.move ? this.move.values.map(([name]) => name) : given(this, "initialValue") || [];
    this.input = made("select", {}, ...options.map((name) => made("option", { value: name, textContent: name })));
    this.input.addEventListener("change", () => this.send([this.input.value]));
    this.output = made("output", { className: "paper" });  // a list does not break its lines on paper
    root.append(made("label", {}, made("slot")), this.input, this.output);
    return this.input;
  }, function (value) { this.output.textContent = this.input.value = value?.[0] ?? ""; });
  const check = [function (root) {
    this.input = made("input", { type: "checkbox" });
    this.input.addEventListener("change", () => this.send(this.input.checked));
    root.append(made("label", { className: "row" }, this.input, made("slot")));
    return this.input;
  }, function (value) { this.input.checked = value; }];
  define("switch", ...check);
  define("checkbox", ...check);
  const field = (name) => [function (root) {
    this.input = made(name, name === "textarea" ? { rows: given(this, "rows") || 4 } : { type: "text" });
    let late = 0;
    this.input.addEventListener("input", () => { clearTimeout(late); late = setTimeout(() => this.send(this.input.value), 200); });
    root.append(made("label", {}, made("slot")), this.input);
    return this.input;
  }, function (value) { this.input.value = value ?? ""; }];
  define("text", ...field("input"));
  define("text-area", ...field("textarea"));
  define("button", function (root) {
    const made_ = made("button", { type: "button" }, made("slot"));
    made_.addEventListener("click", () => this.send(1));
    root.append(made_);
    return made_;
  });
  define("download", function (root) {
    const link = made("a", { href: given(this, "data"), download: given(this, "filename") }, made("slot"));
    root.append(link);
    return link;
  });
  define("file", function (root) { root.append(made("div", {}, made("slot"))); return null; });
  define("anywidget", function (root) {
    const values = { side: 140, label: "Draw a digit from 0 to 9", ink: "" };
    const model = { get: (name) => values[name], set: (name, value) => { values[name] = value; }, on: () => {}, save_changes: () => this.send({ ...values }) };
    root.append(made("link", { rel: "stylesheet", href: "../static/pad.css" }));
    window.LaminaPad.render({ model, el: root });
    return null;
  });
  customElements.define("marimo-tex", class extends HTMLElement {
    connectedCallback() {
      if (this.dataset.tex !== undefined) return;
      const text = this.dataset.tex = this.textContent, block = text.startsWith("||[");
      window.katex.render(text.replace(/^\|\|[([]|\|\|[)\]]$/g, ""), this, { displayMode: block, throwOnError: false });
    }
  });

  // Paper is light.
  let theme = "";
  addEventListener("beforeprint", () => { theme = document.documentElement.dataset.theme; document.documentElement.dataset.theme = "light"; });
  addEventListener("afterprint", () => { document.documentElement.dataset.theme = theme; });

  addEventListener("load", () => document.dispatchEvent(new Event("lamina-live")));
  return { own, say, made, apply, recorded, moves, widgets, keyOf };
})();
