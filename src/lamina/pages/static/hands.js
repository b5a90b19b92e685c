// Hands on a picture: light what a number is made of, change a number where it stands, drag a point or a line.
// A drawing says in `data-hands` what its shapes are, by their titles: a `value` or a `sum` of products of others,
// where an `edit` goes, what a `drag` moves; or it names data `points` and what follows from them (see `follow.js`).
// The answer comes from here in the same frame, and from Python a moment later, since every hand moves a widget of the page.
window.LaminaHands = (() => {
  const THEN = { identity: (z) => z, tanh: Math.tanh, sigmoid: (z) => 1 / (1 + Math.exp(-z)), relu: (z) => Math.max(0, z) };
  const { short } = window.LaminaFollow;
  const put = (value) => value < 0 ? `(${short(value)})` : short(value);
  const boxOf = (node) => node.closest?.(".lamina-svg[data-hands]");
  const scopes = new WeakMap(), resting = new Map();  // box -> place -> where the hand left a point that Python has not drawn there yet

  // One drawing: its hands, and the numbers that were changed since Python drew it.
  const scope = (box) => {
    const text = box.dataset.hands;
    if (scopes.get(box)?.text !== text) {
      const { points: data, ...own } = JSON.parse(text), hands = { __proto__: null, ...own };
      data?.at.forEach((at, place) => { if (at.length) hands[`point ${place + 1}`] = { drag: { across: data.across, up: data.up, place } }; });
      for (const [place, rest] of resting.get(box) ?? []) {
        rest.said = data?.at[place];
        if (!rest.said?.length || rest.at.every((value, side) => Math.abs(value - rest.said[side]) <= 1e-5 * Math.max(1, Math.abs(value)))) resting.get(box).delete(place);
        else data.at[place] = rest.at;
      }
      scopes.set(box, { text, hands, data, changed: new Map() });
    }
    return scopes.get(box);
  };
  // Of the two forms of a drawing, wide and narrow, the one that the style sheet shows.
  const sheet = (box) => [...box.querySelectorAll("svg")].find((svg) => svg.getClientRects().length) ?? box.querySelector("svg");
  const shapes = (box, title) => [...sheet(box).querySelectorAll("title")].filter((node) => node.textContent === title).map((node) => node.parentElement);
  const titleOf = (node) => {
    for (let el = node; el && el.localName !== "svg"; el = el.parentElement) {
      const title = [...el.children].find((child) => child.localName === "title");
      if (title) return title.textContent;
    }
    return "";
  };
  // A text has no title of its own in a grid: it belongs to the cell it stands in. Where nothing is, the nearest shape within
  // five pixels is meant, such as the arrow of a weight.
  const handAt = (box, event) => {
    const { hands } = scope(box), shape = (title) => title && hands[title] && !("place" in (hands[title].drag || {}));
    const here = document.elementsFromPoint(event.clientX, event.clientY).filter((node) => box.contains(node)).map(titleOf);
    if (here.some(shape)) return here.find(shape);
    let best = "", least = 5;
    for (const node of sheet(box).querySelectorAll("title")) {
      const far = shape(node.textContent) ? distance(node.parentElement, event) : least;
      if (far < least) [best, least] = [node.textContent, far];
    }
    return best || nearPoint(box, event);
  };
  // How many pixels a place is away from a shape: from the nearest part of a line, from a disc, else from the frame.
  const distance = (node, { clientX: x, clientY: y }) => {
    const frame = node.getBoundingClientRect();
    const away = Math.hypot(Math.max(frame.left - x, x - frame.right, 0), Math.max(frame.top - y, y - frame.bottom, 0));
    if (node.localName === "circle") return Math.max(0, Math.hypot((frame.left + frame.right) / 2 - x, (frame.top + frame.bottom) / 2 - y) - frame.width / 2);
    if (!node.points || away >= 5) return away;
    const to = node.getScreenCTM(), at = [...node.points].map((point) => new DOMPoint(point.x, point.y).matrixTransform(to));
    return Math.min(...at.slice(1).map((b, i) => {
      const a = at[i], dx = b.x - a.x, dy = b.y - a.y;
      const share = Math.min(1, Math.max(0, ((x - a.x) * dx + (y - a.y) * dy) / (dx * dx + dy * dy || 1)));
      return Math.hypot(a.x + share * dx - x, a.y + share * dy - y);
    }));
  };
  // Data points are small: the nearest one within a finger's width is meant.
  const nearPoint = (box, event) => {
    const { data } = scope(box);
    if (!data) return "";
    const { across, up } = placed(box, data), to = sheet(box).getScreenCTM(), reach = event.pointerType === "touch" ? 24 : 12;
    let best = "", least = reach;
    data.at.forEach(([x, y], place) => {
      if (x === undefined) return;
      const at = new DOMPoint(inverse(across, x), inverse(up, y)).matrixTransform(to), far = Math.hypot(at.x - event.clientX, at.y - event.clientY);
      if (far < least) [best, least] = [`point ${place + 1}`, far];
    });
    return best;
  };
  const sumOf = (box, title) => scope(box).hands[title].sum.reduce((total, [a, b]) => total + valueOf(box, a) * valueOf(box, b), 0);
  const valueOf = (box, title) => {
    if (typeof title === "number") return title;
    const { hands, changed } = scope(box), hand = hands[title];
    if (changed.has(title)) return changed.get(title);
    return hand.sum ? THEN[hand.then || "identity"](sumOf(box, title)) : hand.value;
  };
  const words = (box, title) => {
    const hand = scope(box).hands[title];
    if (hand.say) return hand.say;
    if (!hand.sum) return `${title} = ${short(valueOf(box, title))}`;
    const parts = hand.sum.map(([a, b]) => b === 1 ? put(valueOf(box, a)) : `${put(valueOf(box, a))} · ${put(valueOf(box, b))}`);
    const total = sumOf(box, title), then = hand.then && hand.then !== "identity" ? `; ${hand.then} of it is ${short(valueOf(box, title))}` : "";
    return `${hand.name || title} = ${parts.join(" + ")} = ${short(total)}${then}`;
  };

  // Texts that show a number: one with the title itself, or the one nearest to the middle of the shape.
  const numberText = (box, title) => {
    const found = shapes(box, title), own = found.find((node) => node.localName === "text");
    if (own) return own;
    const frame = found[0]?.getBoundingClientRect();
    if (!frame) return null;
    const [x, y] = [frame.left + frame.width / 2, frame.top + frame.height / 2];
    const far = (node) => { const r = node.getBoundingClientRect(); return Math.hypot(r.left + r.width / 2 - x, r.top + r.height / 2 - y); };
    return [...sheet(box).querySelectorAll("text")].filter((node) => far(node) < Math.max(frame.width, frame.height) / 2)
      .sort((a, b) => far(a) - far(b))[0] ?? null;
  };
  const repaint = (box) => {
    const { hands, changed } = scope(box);
    for (const [title, hand] of Object.entries(hands)) {
      if (!changed.has(title) && !hand.sum) continue;
      const text = hand.shown === false ? null : numberText(box, title), said = text?.querySelector("title");
      if (!text) continue;
      text.textContent = short(valueOf(box, title));
      if (said) text.prepend(said);
    }
  };

  // The line of words beside the pointer.
  const tip = document.createElement("div");
  tip.className = "lamina-tip";
  tip.setAttribute("role", "status");
  tip.hidden = true;
  let lit = [];
  const dark = () => { for (const node of lit) node.classList.remove("lit", "from"); lit = []; tip.hidden = true; };
  const say = (text, x, y) => {
    if (!tip.isConnected) document.body.append(tip);
    tip.textContent = text;
    tip.hidden = false;
    tip.style.left = `${Math.max(8, Math.min(x + 14, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${y + 18 + tip.offsetHeight > innerHeight ? y - tip.offsetHeight - 10 : y + 18}px`;
  };
  const light = (box, title, x, y, typed = false) => {
    dark();
    const hand = scope(box).hands[title];
    if (!hand || (hand.drag && !typed)) return;
    const mark = (name, kind) => { for (const node of shapes(box, name)) { node.classList.add(kind); lit.push(node); } };
    for (const pair of hand.sum || []) for (const name of pair) if (typeof name === "string") mark(name, "from");
    mark(title, "lit");
    const end = sheet(box).getBoundingClientRect().bottom;  // on a phone the words would cover the numbers they name
    say(hand.drag ? `${title}: arrow keys (Page Down: the next one)` : words(box, title) + (hand.edit ? ` (${typed ? "Enter" : "click"} to change)` : ""), x, innerWidth <= 520 && end < innerHeight ? end - 18 : y);
  };

  // Change a number: in the drawing at once, and in the widget that Python reads.
  const widget = (name) => window.Lamina.named().get(name);
  // Python is told at most ten times a second, and always the last: many requests at once may overtake each other. Of a
  // data point it is told when the hand `rests`, so that no answer to an earlier place comes between.
  const late = new Map();
  const tell = (name, made, rests = false) => {
    const now = late.get(name), first = now?.made, whole = first ? (before) => made(first(before)) : made;
    if (now && !rests) { now.made = whole; return; }
    clearTimeout(now?.timer);
    late.set(name, { made: whole, timer: setTimeout(() => {
      const target = widget(name), last = late.get(name);
      late.delete(name);
      if (target && last) window.Lamina.set(target, last.made(window.Lamina.value(target)));
    }, 100) });
  };
  const pending = (name) => (late.get(name)?.made ?? ((now) => now))(window.Lamina.value(widget(name)));
  const sent = (edit, number, before) => {
    if ("row" in edit) {
      const rows = String(before).replaceAll("−", "-").split(/[;\n]/).filter((line) => line.trim()).map((line) => line.trim().split(/[\s,]+/));
      rows[edit.row][edit.column] = String(number);
      return rows.map((row) => row.join(" ")).join("\n");
    }
    if ("key" in edit) {
      const given = new Map(String(before).split(";").filter((part) => part.includes("=")).map((part) => part.split("=").map((word) => word.trim())));
      given.set(edit.key, String(number));
      return [...given].map((pair) => pair.join("=")).join("; ");
    }
    return number;
  };
  const change = (box, title, number) => {
    const { edit: changes } = scope(box).hands[title];
    scope(box).changed.set(title, number);
    repaint(box);
    tell(changes.into, (before) => sent(changes, number, before));
  };
  const edit = (box, title, x, y) => {
    document.querySelector(".lamina-edit")?.remove();
    const form = document.createElement("form"), field = document.createElement("input"), label = document.createElement("label");
    form.className = "lamina-edit";
    label.textContent = title;
    Object.assign(field, { type: "number", step: "any", value: valueOf(box, title) });
    label.append(field);
    form.append(label);
    form.style.left = `${Math.min(x, innerWidth - 150)}px`;
    form.style.top = `${Math.min(y + 12, innerHeight - 80)}px`;
    document.body.append(form);
    field.focus();
    field.select();
    field.addEventListener("input", () => { if (Number.isFinite(field.valueAsNumber)) change(box, title, field.valueAsNumber); });
    form.addEventListener("submit", (event) => { event.preventDefault(); form.remove(); });
    field.addEventListener("keydown", (event) => { if (event.key === "Escape") form.remove(); event.stopPropagation(); });
    field.addEventListener("blur", () => setTimeout(() => form.remove(), 0));
  };

  // Drag. A point moves two widgets; a line w1 x + w2 y + b = 0 is shifted by its bias and turned by its weights.
  // The axes of a chart are the line through three points, with a corner below on the left; Python names their ends and values.
  const placed = (box, drag) => {
    for (const line of sheet(box).querySelectorAll("polyline")) {
      const [a, b, c, ...more] = [...line.points];
      if (c && !more.length && a.x === b.x && b.x < c.x && a.y < b.y && b.y === c.y) {
        return { ...drag, across: [b.x, c.x, ...drag.across.slice(2)], up: [b.y, a.y, ...drag.up.slice(2)] };
      }
    }
    return drag;
  };
  const values = (box, drag, event) => {
    const svg = sheet(box), at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const along = (place, [from, to, low, high]) => low + (high - low) * Math.min(1, Math.max(0, (place - from) / (to - from)));
    return [along(at.x, drag.across), along(at.y, drag.up)];
  };
  const snapped = (target, number) => {
    const given = (name) => JSON.parse(target.dataset[name] ?? "null"), step = given("step") || 0.01, low = given("start"), high = given("stop");
    const near = low + Math.round((number - low) / step) * step;
    return Number(Math.min(high, Math.max(low, near)).toFixed(6));
  };
  const assign = (names, numbers) => names.map((name, place) => {
    const target = widget(name);
    if (!target) return numbers[place];
    const number = snapped(target, numbers[place]);
    tell(name, () => number);
    return number;
  });
  const inverse = ([from, to, low, high], number) => from + (to - from) * (number - low) / (high - low);
  const moved = (box, title, [x, y]) => {
    const drag = placed(box, scope(box).hands[title].drag);
    if ("place" in drag) { movedPoint(box, drag, [x, y]); return; }
    if (!drag.line) {
      const [u, v] = assign(drag.set, [x, y]);
      for (const node of shapes(box, title)) { node.setAttribute("cx", inverse(drag.across, u)); node.setAttribute("cy", inverse(drag.up, v)); }
      return;
    }
    const [w1, w2] = drag.line;
    let [a, b] = [w1, w2];
    if (drag.line.length > 3) {  // turned about the pivot: the weights keep their length
      const [px, py] = drag.line.slice(3), size = Math.hypot(w1, w2) || 1, side = Math.hypot(x - px, y - py) || 1;
      const sign = Math.sign(-(y - py) * w1 + (x - px) * w2) || 1;
      [a, b] = [sign * size * -(y - py) / side, sign * size * (x - px) / side];
    }
    const [first, second] = drag.line.length > 3 ? assign(drag.set.slice(0, 2), [a, b]) : [w1, w2];
    const [px, py] = drag.line.length > 3 ? drag.line.slice(3) : [x, y];
    assign([drag.set[2]], [-(first * px + second * py)]);
    for (const node of shapes(box, title)) { node.setAttribute("cx", inverse(drag.across, x)); node.setAttribute("cy", inverse(drag.up, y)); }
    redrawn(box, drag, window.LaminaFollow.side([first, second], -(first * px + second * py), drag.across.slice(2), drag.up.slice(2)));
  };

  // A data point goes where the hand is, what follows from the points goes with it, and its words are said.
  const tidy = (value, [, , low, high]) => Number(Math.min(high, Math.max(low, value)).toFixed(Math.max(0, Math.ceil(Math.log10(400 / (high - low))))));
  const movedPoint = (box, { across, up, place }, [x, y]) => {
    const { data } = scope(box), [u, v] = data.at[place] = [tidy(x, across), tidy(y, up)];
    const answer = followed(data);
    redrawn(box, { across, up }, { ...answer, at: { ...answer.at, [`point ${place + 1}`]: [u, v] } });
    stay(box, place);
    const frame = sheet(box).getBoundingClientRect();  // the words stand below the picture, which they would cover
    say(`point ${place + 1} at (${short(u)}, ${short(v)})${answer.words ? `; ${answer.words}` : ""}`, frame.left, frame.bottom - 18);
    tell(data.into, (before) => sent({ key: String(place + 1) }, `${u} ${v}`, before), true);
  };
  const followed = ({ follow, at, given }) => follow ? window.LaminaFollow[follow](at, given) : {};
  // What Python draws before it knows the new places, such as the next picture of a network that learns, is put right in the
  // same frame, and the next key moves on from there, until Python knows or two seconds have passed.
  const stay = (box, place) => {
    if (!resting.size) requestAnimationFrame(look);
    if (!resting.has(box)) resting.set(box, new Map());
    resting.get(box).set(place, { at: scope(box).data.at[place], until: performance.now() + 2000 });
  };
  const look = () => {
    for (const [box, places] of resting) {
      const { data } = scope(box), at = {};
      for (const [place, { said, at: own, until }] of places) {
        if (!held && performance.now() > until) { data.at[place] = said ?? own; places.delete(place); }
        at[`point ${place + 1}`] = data.at[place];
      }
      const axes = box.isConnected && data && placed(box, data);
      const off = ([title, [u, v]]) => shapes(box, title).slice(0, 1).some((disc) =>
        Math.abs(disc.getAttribute("cx") - inverse(axes.across, u)) + Math.abs(disc.getAttribute("cy") - inverse(axes.up, v)) > 0.04);
      if (axes && Object.entries(at).some(off)) {
        const answer = followed(data);
        redrawn(box, axes, { ...answer, at: { ...answer.at, ...at } });
      }
      if (!places.size) resting.delete(box);
    }
    if (resting.size) requestAnimationFrame(look);
  };
  const redrawn = (box, { across, up }, { paths = {}, areas = {}, at = {}, colors = {} }) => {
    const found = new Map(), pixel = ([x, y]) => [inverse(across, x), inverse(up, y)];
    for (const title of sheet(box).querySelectorAll("title")) found.set(title.textContent, [...found.get(title.textContent) || [], title.parentElement]);
    const inside = `polygon(${[[0, 0], [1, 0], [1, 1], [0, 1]].map(([i, j]) => `${across[i]}px ${up[j]}px`).join(", ")}) view-box`;
    for (const [title, places] of Object.entries({ ...paths, ...areas })) {
      (found.get(title) || []).forEach((node, i) => {  // what leaves the plot was cut into pieces: now the first one is cut by the style
        node.setAttribute("points", i ? "" : places.map((place) => pixel(place).join(",")).join(" "));
        node.style.clipPath = inside;
      });
    }
    for (const [title, place] of Object.entries(at)) {
      const [x, y] = pixel(place);
      for (const node of found.get(title) || []) {
        if (node.localName === "circle") { node.setAttribute("cx", x); node.setAttribute("cy", y); continue; }
        const points = [...node.points], [dx, dy] = ["x", "y"].map((side, k) => [x, y][k] - points.reduce((total, point) => total + point[side], 0) / points.length);
        node.setAttribute("points", points.map((point) => `${point.x + dx},${point.y + dy}`).join(" "));
      }
    }
    for (const [title, style] of Object.entries(colors)) for (const node of found.get(title) || []) Object.assign(node.style, style);
  };
  // One pointer drags, the first of its kind with its first button. Python may draw anew meanwhile: the drag goes on in the
  // drawing that tells the same widgets, and ends when the shape is no longer there.
  let held = null, frame = 0;
  const goal = (box, title) => String(scope(box).hands[title]?.drag?.set ?? scope(box).data?.into);
  const follow = (event) => {
    if (!held) return;
    if (!held.box.isConnected) held.box = [...document.querySelectorAll("#root .lamina-svg[data-hands]")].find((box) => goal(box, held.title) === held.goal) ?? held.box;
    const { box, title } = held, drag = scope(box).hands[title]?.drag;
    if (!drag) drop();
    else if (box.isConnected) moved(box, title, values(box, placed(box, drag), event));
  };
  document.addEventListener("pointerdown", (event) => {
    const box = boxOf(event.target);
    if (!box || !event.isPrimary || event.button || (held && held.pointer !== event.pointerId)) return;
    const title = handAt(box, event), hand = scope(box).hands[title];
    if (!hand?.drag) return;
    held = { box, title, pointer: event.pointerId, goal: goal(box, title) };
    near.set(box, Object.keys(scope(box).hands).indexOf(title));
    dark();
    event.preventDefault();
  });
  document.addEventListener("pointermove", (event) => {
    if (held && held.pointer === event.pointerId && !(event.buttons & 1)) drop();  // it was let go where nobody saw it
    if (held) {
      if (held.pointer !== event.pointerId) return;
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => follow(event));
      return;
    }
    const box = boxOf(event.target);
    if (!box) { if (!tip.hidden) dark(); return; }
    const title = handAt(box, event);
    const hand = scope(box).hands[title];
    box.style.cursor = hand?.drag ? "grab" : hand?.edit ? "pointer" : "";
    if (title) light(box, title, event.clientX, event.clientY);
    else dark();
  });
  const drop = (event) => {
    if (!held || (event?.pointerId ?? held.pointer) !== held.pointer) return;
    dark();
    held = null;
  };
  document.addEventListener("touchmove", (event) => { if (held) event.preventDefault(); }, { passive: false });
  document.addEventListener("pointerup", drop);
  document.addEventListener("pointercancel", (event) => { drop(event); if (!held) dark(); });  // a finger scrolls
  addEventListener("blur", () => drop());
  document.addEventListener("click", (event) => {
    const box = boxOf(event.target), title = box ? handAt(box, event) : "", hand = box && scope(box).hands[title];
    if (!hand) return;
    near.set(box, Object.keys(scope(box).hands).indexOf(title));
    if (hand.edit) edit(box, title, event.clientX, event.clientY);
    else light(box, title, event.clientX, event.clientY);  // a finger points by a tap
    choose(hand);
  });
  const choose = (hand) => {
    for (const [name, number] of Object.entries(hand.choose || {})) {
      const target = widget(name);
      if (target) window.Lamina.set(target, number);
    }
  };

  // The keyboard reaches every hand: Tab goes to the picture, arrows or Page Down from shape to shape, Enter changes; arrows move what
  // can be dragged: a point by five steps of its widgets, a line by as much as its bias or its weights can notice.
  const place = (box, title, drag) => {
    const [disc] = shapes(box, title), along = (at, [from, to, low, high]) => low + (high - low) * (at - from) / (to - from);
    return [along(disc.cx.baseVal.value, drag.across), along(disc.cy.baseVal.value, drag.up)];
  };
  const stepOf = (name) => JSON.parse(widget(name)?.dataset.step || "0.01");
  const pushed = (box, title, way, fine) => {
    const drag = placed(box, scope(box).hands[title].drag);
    if ("place" in drag) {  // a fiftieth of the axes, with Shift a fifth of that
      return scope(box).data.at[drag.place].map((value, side) => value + way[side] * (fine ? 0.004 : 0.02) * [drag.across, drag.up].map(([, , low, high]) => high - low)[side]);
    }
    const [x, y] = place(box, title, drag);
    if (!drag.line) return drag.set.map((name, at) => pending(name) + 5 * stepOf(name) * way[at]);
    const [a, b, , px, py] = drag.line, size = Math.hypot(a, b) || 1;
    if (drag.line.length > 3) {  // turned about the other disc, to the left by left and up
      const turn = (way[0] > 0 || way[1] < 0 ? -1 : 1) * Math.max(0.1, 1.2 * Math.max(stepOf(drag.set[0]), stepOf(drag.set[1])) / size);
      const [cos, sin, dx, dy] = [Math.cos(turn), Math.sin(turn), x - px, y - py];
      return [px + cos * dx - sin * dy, py + sin * dx + cos * dy];
    }
    const change = Math.abs(a * way[0] + b * way[1]), by = change > 1e-9 ? Math.max(0.05, 1.01 * stepOf(drag.set[2]) / change) : 0;
    return [x + by * way[0], y + by * way[1]];
  };
  const near = new WeakMap();
  document.addEventListener("focusin", (event) => { if (event.target.matches?.(".lamina-svg[data-hands]:focus-visible")) show(event.target, near.get(event.target) || 0); });
  document.addEventListener("focusout", (event) => { if (event.target.matches?.(".lamina-svg[data-hands]")) dark(); });
  const show = (box, place) => {
    const titles = Object.keys(scope(box).hands), at = (place + titles.length) % titles.length, shape = shapes(box, titles[at])[0];
    near.set(box, at);
    const frame = shape?.getBoundingClientRect();
    if (frame) light(box, titles[at], frame.left + frame.width / 2, frame.bottom, true);
    return titles[at];
  };
  document.addEventListener("keydown", (event) => {
    const box = event.target;
    if (event.ctrlKey || event.altKey || event.metaKey || !box.matches?.(".lamina-svg[data-hands]")) return;
    const { hands } = scope(box), titles = Object.keys(hands), title = titles[(near.get(box) || 0) % titles.length];
    if (!title) return;
    const { drag, edit: changes } = hands[title];
    const ways = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    if (event.key === "Enter" && changes) {
      const frame = shapes(box, title)[0].getBoundingClientRect();
      edit(box, title, frame.left, frame.bottom);
    } else if (event.key === "Enter") {
      choose(hands[title]);
    } else if (event.key === "PageDown" || event.key === "PageUp") {
      show(box, (near.get(box) || 0) + (event.key === "PageDown" ? 1 : -1));
    } else if (ways[event.key] && drag) {
      moved(box, title, pushed(box, title, ways[event.key], event.shiftKey));
    } else if (ways[event.key]) {
      show(box, (near.get(box) || 0) + (ways[event.key][0] || -ways[event.key][1]));
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
  // Whether something that is not live, in a book, would answer to a hand here: a point with a formula does.
  const answers = (box, event) => {
    const { hands, data } = scope(box), { drag } = hands[titleOf(event.target)] ?? hands[handAt(box, event)] ?? {};
    return !drag || ("place" in drag && !!data.follow);
  };
  return { valueOf, words, change, sent, moved, answers };
})();
