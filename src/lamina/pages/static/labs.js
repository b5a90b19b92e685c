// What a lab needs besides marimo: values of widgets set from outside, buttons that play, the state in the address,
// keys for a lecture, and the contents of a long page. `Lamina.set` and `Lamina.value` are for `hands.js` and tests.
window.Lamina = (() => {
  // Of a widget, once it has changed; a widget that Python made anew begins anew, though its element may be the same.
  const values = new WeakMap();
  const made = (widget) => widget.closest("marimo-ui-element")?.getAttribute("random-id");
  const widgets = () => [...document.querySelectorAll("#root marimo-ui-element > *")];
  const value = (widget) => values.get(widget)?.made === made(widget) && values.has(widget) ? values.get(widget).now : JSON.parse(widget.dataset.initialValue ?? "null");
  const name = (widget) => {
    const label = JSON.parse(widget.dataset.label || '""') || "";
    const words = label.replace(/<[^>]*>/g, " ").replace(/\|\|[()[\]]/g, " ").toLowerCase();
    return words.replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
  };

  // Widgets of the same name are told apart by their order on the page: size, size.2, size.3.
  const named = () => {
    const found = new Map(), seen = {};
    for (const widget of widgets()) {
      const word = name(widget);
      if (!word) continue;
      seen[word] = (seen[word] || 0) + 1;
      found.set(seen[word] > 1 ? `${word}.${seen[word]}` : word, widget);
    }
    return found;
  };

  const tell = (widget, kind, now, bubbles) => widget.dispatchEvent(
    new CustomEvent(kind, { bubbles, composed: true, detail: { value: now, element: widget } }));
  const show = (widget, now) => tell(widget, "marimo-value-update", now, false);
  const set = (widget, now) => {
    show(widget, now);                                 // the widget shows it
    tell(widget, "marimo-value-input", now, true);     // the page computes with it
  };

  // The state in the address: what differs from the first view. Files, buttons and what runs are left out.
  const kept = new Set(["marimo-slider", "marimo-range-slider", "marimo-dropdown", "marimo-switch", "marimo-checkbox",
    "marimo-radio", "marimo-text", "marimo-text-area", "marimo-number"]);
  const carried = (widget) => kept.has(widget.localName) && !widget.closest(".lamina-play");
  const written = (now) => Array.isArray(now) && now.length === 1 && typeof now[0] === "string" ? now[0]
    : typeof now === "string" ? now : JSON.stringify(now);
  const parsed = (widget, text) => {
    const first = JSON.parse(widget.dataset.initialValue ?? "null");
    if (Array.isArray(first) && typeof (first[0] ?? "") === "string") return [text];
    if (typeof first === "string") return text;
    try { return JSON.parse(text); } catch { return first; }
  };
  const keep = (widget) => {
    if (!carried(widget)) return;
    const found = [...named()].find(([, other]) => other === widget);
    if (!found) return;
    const address = new URL(location.href), now = value(widget);
    if (written(now) === written(JSON.parse(widget.dataset.initialValue ?? "null"))) address.searchParams.delete(found[0]);
    else address.searchParams.set(found[0], written(now));
    if (address.href !== location.href) history.replaceState(history.state, "", address);
  };
  document.addEventListener("marimo-value-input", (event) => {
    const { element, value: now } = event.detail;
    values.set(element, { now, made: made(element) });
    keep(element);
    clearTimeout(late);
    late = setTimeout(prune, 700);
  });
  // What another widget has made anew, such as the moved points of other data, is no part of the state any more.
  let late = 0;
  const prune = () => {
    if (restoring || busy()) { late = setTimeout(prune, 700); return; }
    const there = named();
    for (const word of new URLSearchParams(location.search).keys()) if (there.has(word)) keep(there.get(word));
  };

  // Beside a slider stands its value; marimo writes a small one as 1.0e-3 and -1, people write 0.001 and −1.
  const inFull = (node) => {
    const texts = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode(); text; text = texts.nextNode()) {
      if (!/^-?\d[\d.,]*(e-\d+)?$/.test(text.data)) continue;
      const full = text.data.includes("e") ? Number(text.data).toFixed(12).replace(/0+$/, "") : text.data;
      if (text.data !== full.replace("-", "−")) text.data = full.replace("-", "−");
    }
  };
  const watched = new WeakSet();
  const tidy = () => {
    for (const { shadowRoot: inside } of document.querySelectorAll("#root marimo-slider")) {
      if (!inside || watched.has(inside)) continue;
      watched.add(inside);
      inFull(inside);
      new MutationObserver(() => inFull(inside)).observe(inside, { childList: true, characterData: true, subtree: true });
    }
  };
  setInterval(tidy, 500);
  document.addEventListener("lamina-live", tidy);

  // A link with a state: set what it says, one widget at a time, since a widget may be made anew when another changes;
  // it is done when all stand as wanted and the page rests. A widget that is still being drawn hears nothing, so it is
  // told again what to show while the page rests.
  const wanted = new Map(new URLSearchParams(location.search)), tries = new Map();
  const busy = () => document.querySelector(".lamina-still, [data-status=running], [data-status=queued]");
  let restoring = wanted.size > 0;
  if (restoring) {
    let calm = 0, ticks = 0;
    const restore = setInterval(() => {
      if (++ticks > 600 || calm > 4) { restoring = false; return clearInterval(restore); }
      if (busy()) { calm = 0; return; }
      const there = named();
      for (const [word, text] of wanted) {
        const widget = there.get(word), tried = tries.get(word) || 0;
        if (!widget || !carried(widget) || !widget.shadowRoot || tried > 4) continue;
        if (written(value(widget)) === text) { show(widget, value(widget)); continue; }
        tries.set(word, tried + 1);
        set(widget, parsed(widget, text));
        calm = 0;
        return;
      }
      calm += there.size > 0;
    }, 120);
  }

  // Buttons that play. Those of a walk move its slider; the others tell the work in its process.
  let count = 0, clock = 0;
  const stop = () => { clearInterval(clock); clock = 0; document.querySelector(".lamina-walk.plays")?.classList.remove("plays"); paint(); };
  const paint = () => {
    for (const walk of document.querySelectorAll(".lamina-walk")) {
      const [sign, words] = walk.querySelectorAll(".main span"), plays = walk.classList.contains("plays");
      if (sign) { sign.textContent = plays ? "❚❚" : "▶"; words.textContent = plays ? "Pause" : "Play"; }
    }
  };
  const step = (walk, way) => {
    const slider = walk.querySelector("marimo-slider");
    const [low, high, by] = ["start", "stop", "step"].map((end) => JSON.parse(slider.dataset[end] ?? "1"));
    const next = way === "first" ? low : Math.min(high, Math.max(low, value(slider) + way * by));
    if (next !== value(slider)) set(slider, next);
    return next < high;
  };
  const press = (button) => {
    const verb = button.dataset.press, walk = button.closest(".lamina-walk");
    if (!walk) {
      const carrier = button.closest(".lamina-play").querySelector("marimo-text");
      if (carrier) set(carrier, `${verb} ${++count}`);
      return;
    }
    const playing = walk.classList.contains("plays");
    stop();
    if (verb === "first") step(walk, "first");
    if (verb === "back") step(walk, -1);
    if (verb === "next") step(walk, 1);
    if (verb !== "walk" || playing) return;
    const slider = walk.querySelector("marimo-slider");
    if (value(slider) >= JSON.parse(slider.dataset.stop)) step(walk, "first");
    walk.classList.add("plays");
    paint();
    clock = setInterval(() => {
      const now = document.querySelector(".lamina-walk.plays");
      if (!now || !step(now, 1)) stop();
    }, 900);
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-press]");
    if (button && !button.disabled) press(button);
    if (event.target.closest?.("[data-do=present]")) present();
  });

  // Keys for a lecture.
  const KEYS = [["Space", "play or pause"], ["→ or .", "one step"], ["←", "one step back"], ["R", "replay"], ["F", "the lab alone"],
    ["N, P", "next page, previous page"], ["D", "light or dark"], ["?", "these keys"]];
  const present = (on = !document.body.classList.contains("presents")) => {
    document.body.classList.toggle("presents", on);
    if (on) scrollTo(0, 0);
    if (on && document.documentElement.requestFullscreen) document.documentElement.requestFullscreen().catch(() => {});
    else if (document.fullscreenElement) document.exitFullscreen();
  };
  const help = () => {
    const open = document.querySelector(".lamina-keys");
    if (open) { open.remove(); return; }
    const box = document.createElement("dialog"), list = document.createElement("dl"), title = document.createElement("b");
    box.className = "lamina-keys";
    title.textContent = "Keys";
    for (const [key, words] of KEYS) {
      list.append(Object.assign(document.createElement("dt"), { textContent: key }), Object.assign(document.createElement("dd"), { textContent: words }));
    }
    box.append(title, list);
    box.addEventListener("close", () => box.remove());
    document.body.append(box);
    box.showModal();
  };
  const button = (...verbs) => {
    for (const verb of verbs) {
      const found = document.querySelector(`#root .lamina-lab [data-press=${verb}]:not(:disabled)`);
      if (found) return found;
    }
    return null;
  };
  const turn = (words) => document.querySelector(`.lamina-bar a[aria-label^="${words}"]`)?.click();
  const ACTIONS = {
    " ": () => document.querySelector("#root .lamina-lab .lamina-play .main")?.click(),
    ArrowRight: () => button("next", "step")?.click(), ".": () => button("next", "step")?.click(),
    ArrowLeft: () => button("back")?.click(), r: () => button("first", "again")?.click(), f: () => present(),
    n: () => turn("Next"), p: () => turn("Previous"), d: () => document.querySelector("[data-do=theme]")?.click(), "?": help,
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && document.body.classList.contains("presents")) return present(false);
    const busy = event.composedPath().some((node) => node.matches?.(
      "input, textarea, select, button, a, summary, [role=slider], [role=switch], [role=combobox], [contenteditable], canvas, [data-hands]"));
    const action = ACTIONS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action || busy) return;
    event.preventDefault();
    action();
  });

  // The contents of a long page, beside it.
  const rail = () => {
    const heads = [...document.querySelectorAll("#root .lamina-section h2")];
    document.querySelector(".lamina-rail")?.remove();
    if (heads.length < 4) return;
    const nav = document.createElement("nav");
    nav.className = "lamina-rail";
    nav.setAttribute("aria-label", "On this page");
    for (const head of heads) nav.append(Object.assign(document.createElement("a"), { href: `#${head.id}`, textContent: head.textContent }));
    document.body.append(nav);
    const seen = () => {
      document.body.classList.toggle("below", heads[0].getBoundingClientRect().top < innerHeight * 0.6);
      const now = heads.findLastIndex((head) => head.getBoundingClientRect().top < 140);
      [...nav.children].forEach((link, place) => link.classList.toggle("now", place === Math.max(0, now)));
    };
    addEventListener("scroll", seen, { passive: true });
    seen();
  };
  document.addEventListener("lamina-live", () => setTimeout(rail, 300));
  document.addEventListener("DOMContentLoaded", () => { if (!document.querySelector(".lamina-still")) setTimeout(rail, 6000); });

  return { set, value, named, press };
})();
