// A canvas for one digit. The ink is sent when a stroke ends, as one byte a pixel in base64.
function render({ model, el }) {
  const side = model.get("side");
  const box = document.createElement("div");
  box.className = "lamina-pad";
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = side;
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", model.get("label") + ". Draw with the mouse or a finger, or with keys: arrows move the pen, the space bar puts it down and lifts it, Delete clears.");
  const clear = document.createElement("button");
  clear.type = "button";
  clear.textContent = "Clear";
  const hint = document.createElement("span");
  hint.className = "hint";
  hint.textContent = model.get("label") + " here";
  hint.setAttribute("aria-hidden", "true");
  const square = document.createElement("div");
  square.className = "square";
  const mark = document.createElement("span");  // where the pen of the keyboard is
  mark.className = "pen";
  mark.hidden = true;
  square.append(canvas, hint, mark);
  box.append(square, clear);
  el.append(box);
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  pen.lineCap = pen.lineJoin = "round";
  pen.lineWidth = side / 11;
  pen.strokeStyle = "#fff";

  const blank = () => { pen.fillStyle = "#000"; pen.fillRect(0, 0, side, side); hint.hidden = false; };
  const place = (event) => {
    const frame = canvas.getBoundingClientRect();
    return [((event.clientX - frame.left) / frame.width) * side, ((event.clientY - frame.top) / frame.height) * side];
  };
  const send = () => {
    const pixels = pen.getImageData(0, 0, side, side).data;
    let text = "";
    for (let i = 0; i < pixels.length; i += 4) text += String.fromCharCode(pixels[i]);
    const ink = btoa(text);
    if (ink === (model.get("ink") || btoa("\0".repeat(text.length)))) return;
    model.set("ink", ink);
    model.save_changes();
  };
  const show = () => {
    blank();
    const ink = model.get("ink");
    if (!ink) return;
    const text = atob(ink);
    const picture = pen.getImageData(0, 0, side, side);
    for (let i = 0; i < text.length; i++) picture.data.fill(text.charCodeAt(i), 4 * i, 4 * i + 3);
    pen.putImageData(picture, 0, 0);
    hint.hidden = /[^\0]/.test(text);
  };
  let drawing = null;  // the one pointer that draws
  canvas.addEventListener("pointerdown", (event) => {
    if (!event.isPrimary || event.button || drawing !== null) return;
    lift();
    drawing = event.pointerId;
    hint.hidden = true;
    canvas.setPointerCapture(event.pointerId);
    pen.beginPath();
    pen.moveTo(...place(event));
    pen.lineTo(...place(event));
    pen.stroke();
    event.preventDefault();
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drawing !== event.pointerId) return;
    if (!(event.buttons & 1)) return end(event);
    for (const step of event.getCoalescedEvents?.() ?? [event]) pen.lineTo(...place(step));
    pen.stroke();
  });
  const end = (event) => { if (drawing === event.pointerId) { drawing = null; send(); } };
  canvas.addEventListener("lostpointercapture", end);  // after the pointer went up or was canceled, too
  const wipe = () => { drawing = null; down = false; blank(); send(); };  // a stroke that is being drawn goes, too
  clear.addEventListener("click", wipe);
  // The pen of the keyboard: arrows move it by a twentieth of the square (with Shift by a hundredth), the space bar puts it down.
  let at = [side / 2, side / 4], down = false;
  const WAYS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const point = (shown) => {
    mark.hidden = !shown;
    mark.classList.toggle("down", down);
    mark.style.left = `${(100 * at[0]) / side}%`;
    mark.style.top = `${(100 * at[1]) / side}%`;
  };
  const stroke = (to) => { hint.hidden = true; pen.lineTo(...to); pen.stroke(); };
  const lift = () => { if (down) { down = false; send(); } };
  canvas.addEventListener("focus", () => point(canvas.matches(":focus-visible")));
  canvas.addEventListener("blur", () => { lift(); point(false); });
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const way = WAYS[event.key];
    if (event.key === "Delete" || event.key === "Backspace") wipe();
    else if (drawing !== null) return;
    else if (event.key === " ") { if (down) lift(); else { down = true; pen.beginPath(); pen.moveTo(...at); stroke(at); } }
    else if (way) {
      const by = side / (event.shiftKey ? 100 : 20);
      const to = at.map((place, i) => Math.min(side, Math.max(0, place + by * way[i])));
      if (down) stroke(to);
      at = to;
    } else return;
    point(true);
    event.preventDefault();
    event.stopPropagation();
  });
  model.on("change:ink", () => { show(); if (drawing !== null || down) { hint.hidden = true; pen.stroke(); } });  // the stroke goes on, on the new ink
  show();
}
export default { render };
