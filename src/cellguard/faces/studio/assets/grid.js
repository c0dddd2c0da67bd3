// The grid: a window of a table as large as it may be. What is seen is asked for in blocks, which are kept.

import "./regular-table.js";
import { fill, h, KIND, MARKS, post, statusWord } from "./kit.js";

const DOWN = 64;
const ACROSS = 24;

export class Grid {
  // `about` says what the table is; `look()` returns how it is looked at now; `chosen(cell)` is told which cell has the focus.
  constructor(place, about, { look, chosen, press }) {
    Object.assign(this, { about, look, chosen, press });
    this.blocks = new Map();
    this.age = 0;
    this.size = [about.rows, about.columns];
    this.focus = { x: 0, y: 0 };
    this.anchor = null;
    this.table = h("regular-table", { "aria-label": about.table });
    fill(place, this.table);
    this.table.setDataListener((x0, y0, x1, y1) => this.window(x0, y0, x1, y1), { virtual_mode: "both" });
    this.table.addStyleListener(() => this.paint());
    this.table.addEventListener("mousedown", (event) => this.point(event));
    this.table.addEventListener("keydown", (event) => this.key(event));
    this.table.removeAttribute("tabindex");
  }

  async draw() { await this.table.draw(); }

  // After another look or other data: all is asked for again.
  async renew({ keep = true } = {}) {
    this.blocks.clear();
    this.age += 1;
    await this.block(0, 0);
    const [rows, columns] = this.size;
    this.focus = keep ? { x: Math.min(this.focus.x, Math.max(columns - 1, 0)), y: Math.min(this.focus.y, Math.max(rows - 1, 0)) } : { x: 0, y: 0 };
    this.anchor = null;
    this.table.resetAutoSize();
    await this.table.draw({ invalid_viewport: true });
    this.tell();
  }

  block(row, column) {
    const key = `${row}/${column}`;
    if (!this.blocks.has(key)) {
      const [top, left] = [row * DOWN, column * ACROSS];
      const age = this.age;
      const asked = post("window", { ...this.about.source, figure: this.about.figure(), look: this.look(), top, left, bottom: top + DOWN, right: left + ACROSS })
        .then((told) => {
          if (age === this.age) { this.size = [told.rows, told.columns]; this.matches = told.matches; }
          return { ...told, picks: new Set(told.picked) };
        });
      asked.catch(() => this.blocks.delete(key));
      this.blocks.set(key, asked);
    }
    return this.blocks.get(key);
  }

  async window(x0, y0, x1, y1) {
    if (!this.size[0] || !this.size[1]) return { num_rows: 0, num_columns: 0, data: [], row_headers: [], column_headers: [], num_row_headers: 1, num_column_headers: 1 };
    [x1, y1] = [Math.min(x1, this.size[1]), Math.min(y1, this.size[0])];
    const wanted = [];
    for (let row = Math.floor(y0 / DOWN); row * DOWN < Math.max(y1, 1); row++)
      for (let column = Math.floor(x0 / ACROSS); column * ACROSS < Math.max(x1, 1); column++) wanted.push(this.block(row, column));
    const blocks = await Promise.all(wanted);
    const find = (x, y) => blocks.find((b) => y >= b.top && y < b.top + DOWN && x >= b.left && x < b.left + ACROSS);
    const data = [], metadata = [], rows = [], columns = [];
    this.rowHeads = new Map();
    this.columnHeads = new Map();
    for (let y = y0; y < y1; y++) {
      const block = find(x0, y);
      const head = block.row_heads[y - block.top];
      rows.push([`${y}`]);
      this.rowHeads.set(y, head);
    }
    for (let x = x0; x < x1; x++) {
      const block = find(x, y0);
      const head = block.column_heads[x - block.left];
      columns.push([`${x}`]);
      this.columnHeads.set(x, head);
      const texts = [], marks = [];
      for (let y = y0; y < y1; y++) {
        const b = find(x, y);
        const at = (y - b.top) * b.wide + (x - b.left);
        const word = b.status[at] < 0 ? "" : this.about.words[b.status[at]];
        const text = b.texts[at];
        texts.push(word in MARKS ? `${MARKS[word]} ${text}` : text);
        marks.push({ word, picked: b.picks.has(at) });
      }
      data.push(texts);
      metadata.push(marks);
    }
    return { num_rows: this.size[0], num_columns: this.size[1], data, metadata, row_headers: rows, column_headers: columns, num_row_headers: 1, num_column_headers: 1 };
  }

  // Gives what is drawn its heads, its marks, and the words for those who listen to it.
  paint() {
    const inner = this.table.querySelector("table");
    if (!inner) return;
    inner.setAttribute("role", "grid");
    inner.setAttribute("aria-label", this.about.title);
    inner.setAttribute("aria-rowcount", this.size[0] + 1);
    inner.setAttribute("aria-colcount", this.size[1] + 1);
    inner.setAttribute("aria-multiselectable", "true");
    const had = inner.contains(document.activeElement) || this.wants;
    for (const th of inner.querySelectorAll("thead th")) {
      const meta = this.table.getMeta(th);
      const head = meta?.x !== undefined && meta.type === "column_header" ? this.columnHeads.get(meta.x) : null;
      head ? this.head(th, head, "column", meta.x) : this.corner(th);
    }
    const [top, bottom, left, right] = this.rectangle();
    for (const tr of inner.querySelectorAll("tbody tr")) {
      let y;
      for (const cell of tr.children) {
        const meta = this.table.getMeta(cell);
        if (!meta) continue;
        y = meta.y;
        if (meta.type === "row_header") { this.head(cell, this.rowHeads.get(meta.y), "row", meta.y); continue; }
        const mark = meta.user ?? {};
        const inside = meta.y >= top && meta.y <= bottom && meta.x >= left && meta.x <= right;
        const here = meta.x === this.focus.x && meta.y === this.focus.y;
        cell.className = [KIND[mark.word], mark.picked && "picked", inside && "chosen", here && "here", !mark.word && "none"].filter(Boolean).join(" ");
        cell.setAttribute("role", "gridcell");
        cell.setAttribute("aria-colindex", meta.x + 2);
        cell.setAttribute("aria-selected", inside ? "true" : "false");
        const said = cell.textContent.replace(/^[●○–=!?] /, "");
        cell.setAttribute("aria-label", mark.word ? `${this.rowHeads.get(meta.y)?.[0] ?? ""}, ${this.columnHeads.get(meta.x)?.[0] || this.about.title}: ${said}, ${statusWord(mark.word)}` : "–");
        cell.tabIndex = here ? 0 : -1;
        if (here && had) { this.wants = false; cell.focus({ preventScroll: true }); }
      }
      if (y !== undefined) { tr.setAttribute("aria-rowindex", y + 2); tr.setAttribute("role", "row"); }
    }
    if (!inner.querySelector("td[tabindex='0']")) inner.querySelector("td")?.setAttribute("tabindex", "0");
  }

  corner(th) {
    th.className = "corner";
    if (th.textContent !== this.about.corner()) th.textContent = this.about.corner();
  }

  head(th, head, side, at) {
    if (!head) return;
    const [code, label, depth, folds] = head;
    const text = code || this.about.figure();
    th.className = `${side === "row" ? "side" : "over"} depth${Math.min(depth, 8)}`;
    th.setAttribute("scope", side === "row" ? "row" : "col");
    th.setAttribute("role", side === "row" ? "rowheader" : "columnheader");
    const parts = [];
    if (folds) {
      const open = folds === 2;
      parts.push(h("button", { type: "button", class: "fold", tabindex: "-1", "aria-expanded": String(open), "aria-label": text, "data-side": side, "data-code": code }, open ? "▾" : "▸"));
    }
    parts.push(h("span", {}, text));
    if (label && side === "row") parts.push(h("span", { class: "muted" }, ` ${label}`));
    th.title = label ? `${code} ${label}` : code;
    fill(th, ...parts);
    th.dataset.at = at;
  }

  rectangle() {
    const { x, y } = this.focus;
    const from = this.anchor ?? this.focus;
    return [Math.min(from.y, y), Math.max(from.y, y), Math.min(from.x, x), Math.max(from.x, x)];
  }

  point(event) {
    const fold = event.target.closest("button.fold");
    if (fold) { event.preventDefault(); this.press("fold", fold.dataset.side, fold.dataset.code); return; }
    const cell = event.target.closest("td");
    const meta = cell && this.table.getMeta(cell);
    if (!meta || meta.x === undefined) return;
    event.preventDefault();
    if (event.shiftKey) this.anchor ??= { ...this.focus };
    else this.anchor = null;
    this.focus = { x: meta.x, y: meta.y };
    this.wants = true;
    this.paint();
    this.tell();
  }

  key(event) {
    const [rows, columns] = this.size;
    const page = Math.max(this.table.querySelectorAll("tbody tr").length - 2, 1);
    const { x, y } = this.focus;
    const steps = {
      ArrowUp: [x, y - 1], ArrowDown: [x, y + 1], ArrowLeft: [x - 1, y], ArrowRight: [x + 1, y],
      PageUp: [x, y - page], PageDown: [x, y + page],
      Home: event.ctrlKey ? [0, 0] : [0, y], End: event.ctrlKey ? [columns - 1, rows - 1] : [columns - 1, y],
    };
    if (event.key in steps) {
      event.preventDefault();
      if (event.shiftKey) this.anchor ??= { x, y };
      else this.anchor = null;
      const [nx, ny] = steps[event.key];
      this.go(Math.max(0, Math.min(columns - 1, nx)), Math.max(0, Math.min(rows - 1, ny)));
      return;
    }
    if (event.altKey || ((event.ctrlKey || event.metaKey) && !"zy".includes(event.key))) return;
    const row = this.rowHeads?.get(y), column = this.columnHeads?.get(x);
    if (event.key === " " || event.key === "Enter") {
      event.preventDefault();
      event.shiftKey ? this.press("fold", "column", column?.[0]) : this.press("fold", "row", row?.[0]);
    } else if (this.press("key", event.ctrlKey || event.metaKey ? `ctrl-${event.key}` : event.key)) event.preventDefault();
  }

  // Moves the focus to a place, and scrolls there if it is not in sight.
  async go(x, y, { focus = true } = {}) {
    this.focus = { x, y };
    this.wants = focus;
    for (let tries = 0; tries < 40; tries++) {
      const cells = [...this.table.querySelectorAll("tbody td")].map((td) => [td, this.table.getMeta(td)]).filter(([, m]) => m);
      const found = cells.find(([, m]) => m.x === x && m.y === y)?.[0];
      const box = this.table.getBoundingClientRect();
      const [first, last] = [cells[0]?.[1], cells.at(-1)?.[1]];
      const rect = found?.getBoundingClientRect();
      if (rect && rect.bottom <= box.bottom && (rect.right <= box.right || first.x === x)) break;
      const high = this.table.querySelector("tbody tr")?.getBoundingClientRect().height || 28;
      const below = first && y >= first.y + Math.floor((box.height - 2 * high) / high);
      if (!first || y < first.y) this.table.scrollTop = y * high;
      else if (below) this.table.scrollTop = Math.max(0, (y + 3) * high - box.height);
      const far = first && (x < first.x || x > last.x + 1);
      if (far) await this.table.scrollToCell(Math.max(x - (x > last.x ? 2 : 0), 0), Math.round(this.table.scrollTop / high));
      else if (rect && rect.right > box.right && first.x < x) await this.table.scrollToCell(first.x + 1, Math.round(this.table.scrollTop / high));
      else if (!rect && first && x > last.x) await this.table.scrollToCell(first.x + 1, Math.round(this.table.scrollTop / high));
      await this.table.draw();
    }
    this.paint();
    this.tell();
  }

  // The codes of the cell in focus, or of all cells that are chosen and seen.
  cell(x = this.focus.x, y = this.focus.y) {
    const row = this.rowHeads?.get(y), column = this.columnHeads?.get(x);
    return row && column ? { row: row[0], column: column[0] } : null;
  }

  async chosenCells() {
    const [top, bottom, left, right] = this.rectangle();
    const found = [];
    for (let y = top; y <= bottom; y++) {
      for (let x = left; x <= right; x++) {
        const block = await this.block(Math.floor(y / DOWN), Math.floor(x / ACROSS));
        if (block.status[(y - block.top) * block.wide + (x - block.left)] < 0) continue;
        found.push({ row: block.row_heads[y - block.top][0], column: block.column_heads[x - block.left][0] });
      }
    }
    return found;
  }

  tell() {
    clearTimeout(this.telling);
    this.telling = setTimeout(() => { const cell = this.cell(); if (cell) this.chosen(cell); }, 60);
  }
}
