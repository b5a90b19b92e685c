// A canvas for one digit. The ink is sent when a stroke ends, as one byte a pixel in base64.
function render({ model, el }) {
  const side = model.get("side");
  const box = document.createElement("div");
  box.className = "lamina-pad";
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = side;
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", model.get("label") + ". Draw with the mouse or a finger; the button clears it.");
  const clear = document.createElement("button");
  clear.type = "button";
  clear.textContent = "Clear";
  const hint = document.createElement("span");
  hint.className = "hint";
  hint.textContent = model.get("label") + " here";
  hint.setAttribute("aria-hidden", "true");
  const square = document.createElement("div");
  square.className = "square";
  square.append(canvas, hint);
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
    model.set("ink", btoa(text));
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
  let drawing = false;
  canvas.addEventListener("pointerdown", (event) => {
    drawing = true;
    hint.hidden = true;
    canvas.setPointerCapture(event.pointerId);
    pen.beginPath();
    pen.moveTo(...place(event));
    pen.lineTo(...place(event));
    pen.stroke();
    event.preventDefault();
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drawing) return;
    for (const step of event.getCoalescedEvents?.() ?? [event]) pen.lineTo(...place(step));
    pen.stroke();
  });
  const end = () => { if (drawing) { drawing = false; send(); } };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  clear.addEventListener("click", () => { blank(); send(); });
  canvas.addEventListener("keydown", (event) => {
    if (event.key === "Delete" || event.key === "Backspace") { blank(); send(); }
  });
  model.on("change:ink", () => { if (!drawing) show(); });
  show();
}
export default { render };
