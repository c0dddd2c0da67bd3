// Draws a map into a box, before and after if it has both: hexagons, squares (of sizes of their own if `side` is given), or
// cells of any outline. `say` has its words where they are not English.
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
  const kind = data.shape ?? "hexagon";
  const n = data.after.length;
  const at = new Map();
  // Centres, and half the width and height of what is drawn of a cell, in units of one cell; y goes down.
  const ux = new Float64Array(n), uy = new Float64Array(n), wide = new Float64Array(n), tall = new Float64Array(n);
  const [stepX, stepY] = data.step ?? [1, SQRT3];
  const aspect = kind === "hexagon" ? Math.abs(stepY / stepX - SQRT3) < 0.01 ? SQRT3 : stepY / stepX : 1;
  let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
  let unit = stepX; // of coordinates in a unit of the picture
  let rings = null;
  if (kind === "outline") {
    let [low, high] = [Infinity, -Infinity];
    for (const cell of data.rings) for (const ring of cell) for (let k = 0; k < ring.length; k += 2) { low = Math.min(low, ring[k]); high = Math.max(high, ring[k]); }
    unit = (high - low) / 40 || 1;
    rings = data.rings.map((cell) => cell.map((ring) => ring.map((value, k) => (k % 2 ? -value : value) / unit)));
  }
  for (let i = 0; i < n; i++) {
    if (kind === "outline") {
      let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
      for (const ring of rings[i]) for (let k = 0; k < ring.length; k += 2) { x0 = Math.min(x0, ring[k]); x1 = Math.max(x1, ring[k]); y0 = Math.min(y0, ring[k + 1]); y1 = Math.max(y1, ring[k + 1]); }
      ux[i] = (x0 + x1) / 2; uy[i] = (y0 + y1) / 2; wide[i] = (x1 - x0) / 2; tall[i] = (y1 - y0) / 2;
    } else if (kind === "square") {
      const side = data.side ? data.side[i] : 1;
      ux[i] = data.q[i] + side / 2; uy[i] = -data.r[i] - side / 2; wide[i] = tall[i] = side / 2;
    } else {
      ux[i] = data.q[i] + data.r[i] / 2; uy[i] = -data.r[i] * aspect / 2; wide[i] = 0.5; tall[i] = aspect / 3;
    }
    if (kind === "hexagon" || (kind === "square" && !data.side)) at.set(`${data.q[i]},${data.r[i]}`, i);
    left = Math.min(left, ux[i] - wide[i]); right = Math.max(right, ux[i] + wide[i]);
    top = Math.min(top, uy[i] - tall[i]); bottom = Math.max(bottom, uy[i] + tall[i]);
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
    view.scale = Math.min(view.width / (right - left + 1), view.height / (bottom - top + 1));
    view.x = view.width / 2 - view.scale * (left + right) / 2;
    view.y = view.height / 2 - view.scale * (top + bottom) / 2;
  }
  function trace(ink, i) {
    const size = view.scale, x = view.x + size * ux[i], y = view.y + size * uy[i];
    if (kind === "outline") {
      for (const ring of rings[i]) {
        for (let k = 0; k < ring.length; k += 2) ink[k ? "lineTo" : "moveTo"](view.x + size * ring[k], view.y + size * ring[k + 1]);
        ink.closePath();
      }
      return;
    }
    const half = size * wide[i], up = size * tall[i];
    if (kind === "square" || size < 6) {
      const high = kind === "square" ? up : up * 0.75;
      ink.rect(x - half, y - high, 2 * half + 0.3, 2 * high + 0.3);
      return;
    }
    ink.moveTo(x, y - up);
    ink.lineTo(x + half, y - up / 2); ink.lineTo(x + half, y + up / 2); ink.lineTo(x, y + up);
    ink.lineTo(x - half, y + up / 2); ink.lineTo(x - half, y - up / 2); ink.closePath();
  }
  function paint(layer, colours, outlined) {
    layer.width = canvas.width; layer.height = canvas.height;
    const ink = layer.getContext("2d");
    const ratio = canvas.width / view.width;
    ink.setTransform(ratio, 0, 0, ratio, 0, 0);
    const size = view.scale;
    const byColour = new Map();
    for (let i = 0; i < n; i++) {
      if (!colours[i]) continue;
      const x = view.x + size * ux[i], y = view.y + size * uy[i], far = size * Math.max(wide[i], tall[i]);
      if (x < -far || y < -far || x > view.width + far || y > view.height + far) continue;
      let list = byColour.get(colours[i]);
      if (!list) byColour.set(colours[i], list = []);
      list.push(i);
    }
    for (const [colour, cells] of byColour) {
      ink.fillStyle = colour;
      ink.beginPath();
      for (const i of cells) trace(ink, i);
      ink.fill("evenodd");
      if (size > 9 || kind === "outline") { ink.strokeStyle = EDGE; ink.lineWidth = 0.5; ink.stroke(); }
    }
    if (!outlined || size < 6) return;
    ink.beginPath();
    for (let i = 0; i < n; i++) if (outlined[i] === RAISED) trace(ink, i);
    ink.strokeStyle = RAISED; ink.lineWidth = Math.min(2, size / 8); ink.stroke();
  }
  // A bar of a round length where coordinates are metres, and where north is where they are known at all.
  function furnish() {
    const ratio = canvas.width / view.width;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = pen.strokeStyle = "#18222d";
    pen.font = "12px system-ui, sans-serif"; pen.textAlign = "center";
    if (data.north) {
      const x = view.width - 18;
      pen.beginPath(); pen.moveTo(x, 10); pen.lineTo(x + 6, 24); pen.lineTo(x - 6, 24); pen.closePath(); pen.fill();
      pen.fillText("N", x, 38);
    }
    if (data.metres) {
      const most = unit * (view.width / 4) / view.scale, power = 10 ** Math.floor(Math.log10(most));
      const length = [5, 2, 1].map((k) => k * power).find((k) => k <= most), pixels = length / unit * view.scale;
      pen.fillStyle = "rgba(255, 255, 255, .8)"; pen.fillRect(8, view.height - 34, pixels + 16, 28);
      pen.fillStyle = "#18222d"; pen.fillRect(16, view.height - 14, pixels, 3);
      pen.fillText(length >= 1000 ? `${length / 1000} km` : `${length} m`, 16 + pixels / 2, view.height - 19);
    }
  }
  function compose() {
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    const cut = before ? Math.round(canvas.width * slider.value / 100) : 0;
    if (cut > 0) pen.drawImage(layers.before, 0, 0, cut, canvas.height, 0, 0, cut, canvas.height);
    if (cut < canvas.width) pen.drawImage(layers.after, cut, 0, canvas.width - cut, canvas.height, cut, 0, canvas.width - cut, canvas.height);
    if (before && cut > 0 && cut < canvas.width) { pen.fillStyle = "#18222d"; pen.fillRect(cut - 1, 0, 2, canvas.height); }
    furnish();
  }
  let waiting = false;
  function draw() {
    const only = changes && changes.checked;
    paint(layers.after, only ? changed : after, only ? null : changed);
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
    if (kind !== "hexagon") return cellAt((x - view.x) / view.scale, (y - view.y) / view.scale);
    const sx = (x - view.x) / view.scale, sy = -(y - view.y) / view.scale * 2 / aspect;
    let best, near = Infinity;
    for (let r = Math.floor(sy); r <= Math.floor(sy) + 1; r++) {
      const q = Math.round(sx - r / 2);
      const d = (q + r / 2 - sx) ** 2 + aspect ** 2 / 4 * (r - sy) ** 2;
      if (d < near) { near = d; best = at.get(`${q},${r}`); }
    }
    return best;
  }
  function cellAt(x, y) {
    if (kind === "square" && !data.side) return at.get(`${Math.floor(x)},${Math.floor(-y)}`);
    for (let i = 0; i < n; i++) {
      if (Math.abs(x - ux[i]) > wide[i] || Math.abs(y - uy[i]) > tall[i]) continue;
      if (kind === "square" || isIn(rings[i], x, y)) return i;
    }
    return undefined;
  }
  function isIn(shape, x, y) {
    let odd = false;
    for (const ring of shape) {
      for (let k = 0, j = ring.length - 2; k < ring.length; j = k, k += 2) {
        const [x0, y0, x1, y1] = [ring[j], ring[j + 1], ring[k], ring[k + 1]];
        if ((y0 <= y) !== (y1 <= y) && x < x0 + (y - y0) * (x1 - x0) / (y1 - y0)) odd = !odd;
      }
    }
    return odd;
  }
  const nameOf = (i) => {
    if (data.codes) return data.codes[i];
    if (data.named) return `${data.named[0]}${data.r[i] * data.named[1]}E${data.q[i] * data.named[1]}`;
    return `${kind === "square" ? "s" : "h"}${data.q[i]}:${data.r[i]}`;
  };
  function tell(i) {
    if (i === undefined) { detail.textContent = say.choose ?? "Choose a cell to read about it."; return; }
    const shown = data.after[i] === null ? say.hidden ?? "not shown" : data.after[i].toLocaleString(tongue);
    const words = data.before ? `${say.before ?? "before"} ${data.before[i].toLocaleString(tongue)}, ${say.after ?? "after"} ${shown}` : shown;
    detail.textContent = `${nameOf(i)}: ${words}.`;
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
  const range = (from, next) => {
    if (next === undefined) return `${said(from)} ${say.more ?? "and more"}`;
    if (!data.whole) return `${said(from)} ${say.below ?? "to below"} ${said(next)}`;
    return next - from === 1 ? said(from) : `${said(from)}–${said(next - 1)}`;
  };
  data.breaks.forEach((from, k) => legend.append(entry(palette[k], range(from, data.breaks[k + 1]))));
  if (changed) [[RAISED, say.raised ?? "raised"], [GAVE, say.gave ?? "gave"], [GONE, say.gone ?? "no longer shown"], [SAME, say.same ?? "unchanged"]].forEach(([colour, words]) => legend.append(entry(colour, `${say.changes ?? "changes"}: ${words}`)));
  const sized = () => { canvas.isConnected ? resize() : removeEventListener("resize", sized); };
  addEventListener("resize", sized);
  resize();
  tell(undefined);
  return { view, zoom, hexagonAt, tell };
};
window.drawHexagons = drawHexagons;
if (document.getElementById("grids")) {
  const WORDS = {}; // what the page says in another language than English
  const say = (text) => WORDS[text] ?? text;
  const words = {
    language: document.documentElement.lang, choose: say("Choose a cell to read about it."), hidden: say("not shown"), before: say("before"), after: say("after"), below: say("to below"),
    more: say("and more"), raised: say("raised"), gave: say("gave"), gone: say("no longer shown"), same: say("unchanged"), changes: say("changes"),
  };
  window.cellguardMap = drawHexagons(document.getElementById("map"), JSON.parse(document.getElementById("grids").textContent), words);
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}
