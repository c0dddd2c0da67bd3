// Draws a map of hexagons into a box, before and after if it has both. `say` has its words where they are not English.
const drawHexagons = (box, data, say) => {
  "use strict";
  const tongue = say.language ?? "en";
  const SQRT3 = Math.sqrt(3);
  const COLOURS = ["#ffffcc", "#d9f0a3", "#addd8e", "#78c679", "#41ab5d", "#238443", "#005a32"];
  const RAISED = "#d55e00", GAVE = "#0072b2", GONE = "#3d4650", SAME = "#e4e8ec", EDGE = "#8b96a2";
  const canvas = box.querySelector("canvas");
  const detail = box.querySelector(".detail");
  const slider = box.querySelector("[data-slider]");
  const changes = box.querySelector("[data-changes]");
  const pen = canvas.getContext("2d");
  const n = data.q.length;
  const at = new Map();
  const ux = new Float64Array(n), uy = new Float64Array(n);
  let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let i = 0; i < n; i++) {
    const x = data.q[i] + data.r[i] / 2, y = -data.r[i] * SQRT3 / 2;
    ux[i] = x; uy[i] = y;
    at.set(`${data.q[i]},${data.r[i]}`, i);
    left = Math.min(left, x); right = Math.max(right, x); top = Math.min(top, y); bottom = Math.max(bottom, y);
  }
  const classOf = (value) => { let k = data.breaks.length - 1; while (k > 0 && value < data.breaks[k]) k -= 1; return k; };
  const step = (COLOURS.length - 1) / Math.max(data.breaks.length - 1, 1);
  const palette = data.breaks.map((_, k) => COLOURS[Math.round(k * step)]);
  const colourOf = (values) => { const out = new Array(n); for (let i = 0; i < n; i++) out[i] = values[i] === null ? "" : palette[classOf(values[i])]; return out; };
  const after = colourOf(data.after);
  const before = data.before ? colourOf(data.before) : null;
  const changed = data.before ? data.after.map((value, i) => (value === null ? GONE : value > data.before[i] ? RAISED : value < data.before[i] ? GAVE : SAME)) : null;
  const view = { scale: 1, x: 0, y: 0, width: 0, height: 0 };
  const layers = { before: document.createElement("canvas"), after: document.createElement("canvas") };

  function fit() {
    view.scale = Math.min(view.width / (right - left + 2), view.height / (bottom - top + 2));
    view.x = view.width / 2 - view.scale * (left + right) / 2;
    view.y = view.height / 2 - view.scale * (top + bottom) / 2;
  }
  function paint(layer, colours) {
    layer.width = canvas.width; layer.height = canvas.height;
    const ink = layer.getContext("2d");
    const ratio = canvas.width / view.width;
    ink.setTransform(ratio, 0, 0, ratio, 0, 0);
    const size = view.scale, half = size / 2, tall = size / SQRT3;
    const byColour = new Map();
    for (let i = 0; i < n; i++) {
      if (!colours[i]) continue;
      const x = view.x + size * ux[i], y = view.y + size * uy[i];
      if (x < -size || y < -size || x > view.width + size || y > view.height + size) continue;
      let list = byColour.get(colours[i]);
      if (!list) byColour.set(colours[i], list = []);
      list.push(x, y);
    }
    for (const [colour, places] of byColour) {
      ink.fillStyle = colour;
      if (size < 6) {
        for (let i = 0; i < places.length; i += 2) ink.fillRect(places[i] - half, places[i + 1] - size * SQRT3 / 4, size + 0.3, size * SQRT3 / 2 + 0.3);
        continue;
      }
      ink.beginPath();
      for (let i = 0; i < places.length; i += 2) {
        const x = places[i], y = places[i + 1];
        ink.moveTo(x, y - tall);
        ink.lineTo(x + half, y - tall / 2); ink.lineTo(x + half, y + tall / 2); ink.lineTo(x, y + tall);
        ink.lineTo(x - half, y + tall / 2); ink.lineTo(x - half, y - tall / 2); ink.closePath();
      }
      ink.fill();
      if (size > 9) { ink.strokeStyle = EDGE; ink.lineWidth = 0.5; ink.stroke(); }
    }
  }
  function compose() {
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    const cut = before ? Math.round(canvas.width * slider.value / 100) : 0;
    if (cut > 0) pen.drawImage(layers.before, 0, 0, cut, canvas.height, 0, 0, cut, canvas.height);
    if (cut < canvas.width) pen.drawImage(layers.after, cut, 0, canvas.width - cut, canvas.height, cut, 0, canvas.width - cut, canvas.height);
    if (before && cut > 0 && cut < canvas.width) { pen.fillStyle = "#18222d"; pen.fillRect(cut - 1, 0, 2, canvas.height); }
  }
  let waiting = false;
  function draw() {
    paint(layers.after, changes && changes.checked ? changed : after);
    if (before) paint(layers.before, before);
    compose();
  }
  function soon() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  }
  function resize() {
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    view.width = canvas.clientWidth; view.height = canvas.clientHeight;
    canvas.width = Math.round(view.width * ratio); canvas.height = Math.round(view.height * ratio);
    fit(); draw();
  }
  function zoom(by, x = view.width / 2, y = view.height / 2) {
    view.x = x - (x - view.x) * by; view.y = y - (y - view.y) * by; view.scale *= by;
    soon();
  }
  function move(dx, dy) { view.x += dx; view.y += dy; soon(); }
  function hexagonAt(x, y) {
    const sx = (x - view.x) / view.scale, sy = -(y - view.y) / view.scale * 2 / SQRT3;
    let best, near = Infinity;
    for (let r = Math.floor(sy); r <= Math.floor(sy) + 1; r++) {
      const q = Math.round(sx - r / 2);
      const d = (q + r / 2 - sx) ** 2 + 0.75 * (r - sy) ** 2;
      if (d < near) { near = d; best = at.get(`${q},${r}`); }
    }
    return best;
  }
  function tell(i) {
    if (i === undefined) { detail.textContent = say.choose ?? "Choose a hexagon to read about it."; return; }
    const shown = data.after[i] === null ? say.hidden ?? "not shown" : data.after[i].toLocaleString(tongue);
    const words = data.before ? `${say.before ?? "before"} ${data.before[i].toLocaleString(tongue)}, ${say.after ?? "after"} ${shown}` : shown;
    detail.textContent = `h${data.q[i]}:${data.r[i]}: ${words}.`;
  }
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => { drag = [event.offsetX, event.offsetY]; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", (event) => {
    if (drag) { move(event.offsetX - drag[0], event.offsetY - drag[1]); drag = [event.offsetX, event.offsetY]; }
    tell(hexagonAt(event.offsetX, event.offsetY));
  });
  canvas.addEventListener("pointerup", () => { drag = null; });
  canvas.addEventListener("wheel", (event) => { event.preventDefault(); zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2, event.offsetX, event.offsetY); }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const keys = { ArrowLeft: () => move(40, 0), ArrowRight: () => move(-40, 0), ArrowUp: () => move(0, 40), ArrowDown: () => move(0, -40),
      "+": () => zoom(1.3), "-": () => zoom(1 / 1.3), 0: () => { fit(); soon(); } };
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });
  const actions = { in: () => zoom(1.5), out: () => zoom(1 / 1.5), whole: () => { fit(); soon(); } };
  for (const button of box.querySelectorAll("button")) button.addEventListener("click", actions[button.dataset.zoom]);
  if (slider) slider.addEventListener("input", compose);
  if (changes) changes.addEventListener("change", soon);
  const legend = box.querySelector(".legend");
  const entry = (colour, words) => {
    const item = document.createElement("li"), patch = document.createElement("span");
    patch.className = "patch"; patch.style.background = colour;
    item.append(patch, words);
    return item;
  };
  const said = (value) => value.toLocaleString(tongue, { maximumFractionDigits: 2 });
  data.breaks.forEach((from, k) => legend.append(entry(palette[k], k + 1 < data.breaks.length ? `${said(from)} ${say.below ?? "to below"} ${said(data.breaks[k + 1])}` : `${said(from)} ${say.more ?? "and more"}`)));
  if (changed) [[RAISED, say.raised ?? "raised"], [GAVE, say.gave ?? "gave"], [GONE, say.gone ?? "no longer shown"], [SAME, say.same ?? "unchanged"]].forEach(([colour, words]) => legend.append(entry(colour, `${say.changes ?? "changes"}: ${words}`)));
  const sized = () => { canvas.isConnected ? resize() : removeEventListener("resize", sized); };
  addEventListener("resize", sized);
  resize();
  tell(undefined);
  return { view, zoom, hexagonAt, tell };
};
window.drawHexagons = drawHexagons;
if (document.getElementById("grids")) {
  window.cellguardMap = drawHexagons(document.getElementById("map"), JSON.parse(document.getElementById("grids").textContent), {});
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}
