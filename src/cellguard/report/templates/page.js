"use strict";
(() => {
  const ROWS = 100, COLUMNS = 16; // children of one code that are drawn at a time
  const NARROW = matchMedia("(max-width: 40rem)");
  const PAPER = 760; // width of a sheet, as on the screen, that fits on A4
  const { kinds: KINDS, tables: grids } = JSON.parse(document.getElementById("grids").textContent);

  const WORDS = {}; // what the page says in another language than English
  const [GROUP, POINT] = document.documentElement.lang === "en" ? [",", "."] : ["\u202f", ","];

  const say = (text, parts = {}) => (WORDS[text] || text).replace(/\{(\w+)\}/g, (all, name) => (name in parts ? parts[name] : all));
  const thousands = (text) => {
    const [whole, part] = text.split(".");
    return whole.replace(/\B(?=(\d{3})+$)/g, GROUP) + (part === undefined ? "" : POINT + part);
  };
  const whole = (value) => thousands(String(value));
  const make = (tag, attributes = {}, ...children) => {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) {
      if (key === "class") node.className = value;
      else if (value !== undefined) node.setAttribute(key, value);
    }
    node.append(...children);
    return node;
  };

  class Axis {
    constructor(data, page) {
      Object.assign(this, data);
      this.page = page;
      this.children = this.codes.map(() => []);
      this.roots = [];
      this.parent.forEach((above, code) => (above < 0 ? this.roots : this.children[above]).push(code));
      this.open = new Set();
      this.limit = new Map();
      this.keep = () => true;
    }
    // Opens the total, and further levels while no more than `most` codes are seen.
    openTo(most) {
      let level = this.roots, seen = level.length;
      for (;;) {
        const next = level.flatMap((code) => this.children[code]);
        if (!next.length || (level !== this.roots && seen + next.length > most)) return;
        level.forEach((code) => this.children[code].length && this.open.add(code));
        seen += next.length;
        level = next;
      }
    }
    // The codes to draw, in order; {more, of} stands for children that are not drawn yet.
    visible() {
      const found = [];
      const walk = (codes, depth, of) => {
        const kept = codes.filter(this.keep);
        const most = this.limit.get(of) || this.page;
        kept.slice(0, most).forEach((code, i) => {
          found.push({ code, depth, place: i + 1, size: kept.length });
          if (this.open.has(code)) walk(this.children[code], depth + 1, code);
        });
        if (kept.length > most) found.push({ more: kept.length - most, of, depth });
      };
      walk(this.roots, 0, -1);
      return found;
    }
    // Opens what stands above a code, and as many of its neighbours as are needed to see it.
    reveal(code) {
      for (let child = code; child >= 0; child = this.parent[child]) {
        const above = this.parent[child];
        const among = (above < 0 ? this.roots : this.children[above]).indexOf(child);
        if (above >= 0) this.open.add(above);
        if (among >= (this.limit.get(above) || this.page)) this.limit.set(above, among + 1);
      }
    }
    more(of) { this.limit.set(of, (this.limit.get(of) || this.page) + this.page); }
    toggle(code) { this.open.has(code) ? this.open.delete(code) : this.open.add(code); }
    name(code) { return this.codes[code] + (this.labels[code] ? " " + this.labels[code] : ""); }
  }

  class Grid {
    constructor(root, data) {
      this.root = root;
      this.data = data;
      this.axes = data.axes.map((axis, i) => new Axis(axis, i === 1 ? COLUMNS : ROWS));
      this.rows = this.axes[0];
      this.columns = this.axes[1] || null;
      this.slice = this.axes.map((axis) => axis.roots[0]);
      this.views = (data.views || []).map(([name, values]) => [name, values.split(" ")]);
      this.values = this.views.length ? this.views[0][1] : data.value.split(" ");
      this.index = new Map();
      for (let i = 0; i < data.status.length; i++) this.index.set(this.key(data.codes.map((column) => column[i])), i);
      this.notes = new Map((data.notes ? data.notes.at : []).map((cell, i) => [cell, i]));
      this.word = say(data.word !== undefined ? data.word : "suppressed"); // "": nothing is marked
      this.countBelow();
      this.rows.openTo(30);
      if (this.columns) this.columns.openTo(COLUMNS - 2);
      this.focus = [this.rows.roots[0], -1];
      this.build();
      this.draw();
    }
    key(codes) { return codes.join(); }
    cell(row, column) {
      const codes = this.slice.slice();
      codes[0] = row;
      if (this.columns) codes[1] = column;
      return this.index.get(this.key(codes));
    }
    isHidden(at) { return (this.data.marked || "psc").includes(this.data.status[at]); }
    inSlice(at) { return this.slice.every((code, i) => i < 2 || this.data.codes[i][at] === code); }
    // How many cells of the chosen slice a row and all rows below it have, and how many of them are suppressed.
    countBelow() {
      const size = this.rows.codes.length;
      this.cells = new Array(size).fill(0);
      this.hidden = new Array(size).fill(0);
      this.across = this.columns ? new Array(this.columns.codes.length).fill(0) : [];
      this.data.codes[0].forEach((code, i) => {
        if (!this.inSlice(i)) return;
        this.cells[code] += 1;
        if (!this.isHidden(i)) return;
        this.hidden[code] += 1;
        if (this.columns) this.across[this.data.codes[1][i]] += 1;
      });
      for (let code = size - 1; code > 0; code--) {
        const above = this.rows.parent[code];
        if (above >= 0) { this.cells[above] += this.cells[code]; this.hidden[above] += this.hidden[code]; }
      }
    }
    build() {
      const button = (text, act) => {
        const node = make("button", { type: "button" }, text);
        node.addEventListener("click", () => { act(); this.draw(); });
        return node;
      };
      this.choosers = {};
      const tools = make("div", { class: "tools" },
        button(say("Open all"), () => this.rows.openTo(600)),
        button(say("Close all"), () => this.rows.open.clear()));
      const only = this.only = make("input", { type: "checkbox" });
      only.addEventListener("change", () => {
        this.rows.keep = only.checked ? (code) => this.hidden[code] > 0 : () => true;
        this.focus = [this.rows.roots[0], -1];
        this.draw();
      });
      if (this.word) tools.append(make("label", {}, only, say("only rows with {word} cells", { word: this.word })));
      if (this.views.length) tools.append(this.viewer());
      this.axes.slice(2).forEach((axis, i) => tools.append(this.chooser(axis, i + 2)));
      this.head = make("thead");
      this.body = make("tbody");
      const title = this.root.closest("article").querySelector("h3").id;
      const table = make("table", { role: "treegrid", "aria-labelledby": title }, this.head, this.body);
      this.sheet = make("div", { class: "sheet" }, table);
      this.detail = make("div", { class: "detail", "aria-live": "polite" });
      // Only pages that explain cells have a panel beside the grid, and ask to choose one.
      if (this.data.notes || this.views.length) {
        this.root.classList.add("storied");
        this.detail.append(make("span", { class: "muted" }, say("Choose a cell to read its story.")));
      }
      this.root.replaceChildren(tools, this.sheet, this.detail);
      this.body.addEventListener("click", (event) => this.click(event));
      this.body.addEventListener("keydown", (event) => this.press(event));
    }
    viewer() {
      const select = make("select");
      this.views.forEach(([name], i) => select.append(make("option", { value: i }, say(name))));
      select.addEventListener("change", () => { this.values = this.views[Number(select.value)][1]; this.draw(); });
      return make("label", {}, say("show"), select);
    }
    chooser(axis, number) {
      const select = make("select");
      const hidden = new Array(axis.codes.length).fill(0);
      this.data.codes[number].forEach((code, i) => { if (this.isHidden(i)) hidden[code] += 1; });
      const walk = (codes, depth) => codes.forEach((code) => {
        const many = hidden[code] ? ` (${whole(hidden[code])} ${this.word})` : "";
        select.append(make("option", { value: code }, "\u2003".repeat(depth) + axis.name(code) + many));
        walk(axis.children[code], depth + 1);
      });
      walk(axis.roots, 0);
      select.addEventListener("change", () => { this.slice[number] = Number(select.value); this.countBelow(); this.draw(); });
      this.choosers[number] = select;
      return make("label", {}, axis.title, select);
    }
    draw(refocus = false) {
      this.shownRows = this.rows.visible();
      this.shownColumns = this.columns ? this.ordered(this.columns.visible()) : [{ code: -1, depth: 0 }];
      this.head.replaceChildren(this.header());
      this.body.replaceChildren(...this.shownRows.map((row) => this.row(row)));
      const now = this.body.querySelector('[tabindex="0"]') || this.body.querySelector("th");
      now.setAttribute("tabindex", "0");
      if (refocus) now.focus({ preventScroll: false });
    }
    // Where there is room for few columns only, those with suppressed cells come first.
    ordered(columns) {
      if (!NARROW.matches) return columns;
      const first = (column) => !column.more && this.across[column.code] > 0;
      return [...columns.filter(first), ...columns.filter((column) => !first(column))];
    }
    // Shows the cell of these codes; tells whether there is one.
    show(codes) {
      const places = codes.map((code, i) => this.axes[i].codes.indexOf(code));
      const at = this.index.get(this.key(places));
      if (at === undefined) return false;
      places.forEach((place, i) => {
        if (i < 2) this.axes[i].reveal(place);
        else { this.slice[i] = place; this.choosers[i].value = place; }
      });
      this.countBelow();
      if (this.only.checked && !this.hidden[places[0]]) { this.only.checked = false; this.rows.keep = () => true; }
      this.draw();
      const target = [...this.body.querySelectorAll("td")].find((td) => td.cell === at);
      if (!target) return false;
      this.step(target);
      target.scrollIntoView({ block: "center", inline: "center" });
      return true;
    }
    header() {
      const corner = this.columns ? `${this.rows.title} \\ ${this.columns.title}` : this.rows.title;
      const row = make("tr", { role: "row" }, make("th", { role: "columnheader", scope: "col" }, corner));
      if (this.word) row.append(make("th", { role: "columnheader", scope: "col", title: say("of all cells of this row and the rows below it") }, this.word));
      for (const column of this.shownColumns) {
        const th = make("th", { role: "columnheader", scope: "col" });
        if (column.more) th.append(this.columnButton(say("{n} more", { n: whole(column.more) }), () => this.columns.more(column.of)));
        else if (!this.columns) th.append(this.data.response);
        else if (this.columns.children[column.code].length) {
          const open = this.columns.open.has(column.code);
          const node = this.columnButton((open ? "▾ " : "▸ ") + this.columns.codes[column.code], () => this.columns.toggle(column.code));
          node.setAttribute("aria-expanded", open);
          th.append(node);
        } else th.append(this.columns.codes[column.code]);
        if (this.columns && !column.more && this.columns.labels[column.code]) th.title = this.columns.labels[column.code];
        row.append(th);
      }
      return row;
    }
    columnButton(text, act) {
      const node = make("button", { type: "button" }, text);
      node.addEventListener("click", () => {
        const at = [...this.head.querySelectorAll("button")].indexOf(node);
        act();
        this.draw();
        const after = this.head.querySelectorAll("button")[at];
        if (after) after.focus();
      });
      return node;
    }
    row(row) {
      const tr = make("tr", { role: "row", "aria-level": row.depth + 1, class: `level${row.depth}` });
      const th = make("th", { role: "rowheader", scope: "row", tabindex: "-1" });
      th.style.paddingLeft = `${0.6 + row.depth}rem`;
      tr.append(th);
      if (row.more) {
        th.append(make("span", { class: "twist", "aria-hidden": "true" }, "▸"), say("{n} more", { n: whole(row.more) }));
        tr.more = row.of;
        return tr;
      }
      tr.code = row.code;
      tr.setAttribute("aria-posinset", row.place);
      tr.setAttribute("aria-setsize", row.size);
      const inner = this.rows.children[row.code].length > 0;
      const open = this.rows.open.has(row.code);
      if (inner) { tr.setAttribute("aria-expanded", open); th.setAttribute("aria-expanded", open); }
      th.append(make("span", { class: "twist", "aria-hidden": "true" }, inner ? (open ? "▾" : "▸") : ""), this.rows.codes[row.code]);
      const label = this.rows.labels[row.code];
      if (label) { th.append(" ", make("span", { class: "muted" }, label)); th.title = label; }
      const [hidden, all] = [this.hidden[row.code], this.cells[row.code]];
      if (this.word) tr.append(make("td", { role: "gridcell", class: "below" }, hidden ? say("{n} of {n2}", { n: whole(hidden), n2: whole(all) }) : say("none")));
      for (const column of this.shownColumns) tr.append(this.value(row.code, column));
      if (this.focus[0] === row.code) (this.focus[1] < 0 ? th : tr.children[this.focus[1] + 1] || th).setAttribute("tabindex", "0");
      return tr;
    }
    value(row, column) {
      if (column.more) return make("td", { role: "gridcell", tabindex: "-1" });
      const at = this.cell(row, column.code);
      if (at === undefined) return make("td", { role: "gridcell", tabindex: "-1", "aria-label": say("empty") });
      const kind = this.data.status[at];
      const [word, sign] = [say(KINDS[kind][0]), KINDS[kind][1]];
      const td = make("td", { role: "gridcell", tabindex: "-1", class: kind === "." ? "" : kind });
      const text = this.values[at] === "" ? "" : thousands(this.values[at]);
      if (sign && text) td.append(make("i", {}, sign));
      td.append(text || sign);
      td.setAttribute("aria-label", text && kind === "." ? text : `${text} ${word}`.trim());
      td.cell = at;
      return td;
    }
    act(tr, target) {
      const at = [...tr.children].indexOf(target);
      if (at > 0) { this.tell(target.cell); return; }
      if (tr.more !== undefined) {
        const last = this.shownRows.findIndex((row) => row.more && row.of === tr.more);
        this.rows.more(tr.more);
        this.draw();
        this.focus = [this.shownRows[last].code, -1];
        this.draw(true);
      } else if (this.rows.children[tr.code].length) {
        this.rows.toggle(tr.code);
        this.focus = [tr.code, -1];
        this.draw(true);
      }
    }
    tell(cell) {
      if (cell === undefined) { this.detail.replaceChildren(); return; }
      const names = this.axes.map((axis, i) => axis.name(this.data.codes[i][cell]));
      const word = say(KINDS[this.data.status[cell]][0]);
      const told = this.views.length ? this.views : [["", this.values]];
      const figures = told.filter(([, values]) => values[cell] !== "").map(([name, values]) => `${name && say(name)} ${thousands(values[cell])}`.trim());
      const head = `: ${[word, ...figures].join(", ")}.`;
      const facts = [];
      if (this.data.count) facts.push([say("Respondents"), whole(this.data.count[cell])]);
      const note = this.notes.get(cell);
      if (note !== undefined) {
        const all = this.data.notes;
        facts.push([say("Why"), all.texts[all.reason[note]]]);
        const levels = [["lower", say("below")], ["upper", say("above")], ["sliding", say("wide")]]
          .filter(([key]) => all[key] && all[key][note] > 0).map(([key, side]) => `${whole(all[key][note])} ${side}`);
        if (levels.length) facts.push([all.level ? say(all.level) : say("Protection level"), levels.join(", ")]);
        if (all.interval) facts.push([say("Feasibility interval"), say("an outsider sees {what}", { what: all.interval[note] })]);
      }
      const story = make("dl", { class: "facts" }, ...facts.flatMap(([what, said]) => [make("dt", {}, what), make("dd", {}, said)]));
      this.detail.replaceChildren(make("p", {}, make("strong", {}, names.join(" / ")), head), ...(facts.length ? [story] : []));
    }
    click(event) {
      const target = event.target.closest("th, td");
      if (target) { this.step(target, false); this.act(target.parentElement, target); }
    }
    step(target, focus = true) {
      const before = this.body.querySelector('[tabindex="0"]');
      if (before) before.setAttribute("tabindex", "-1");
      target.setAttribute("tabindex", "0");
      const tr = target.parentElement;
      this.focus = [tr.code, [...tr.children].indexOf(target) - 1];
      if (focus) { target.focus(); if (target.cell !== undefined) this.tell(target.cell); }
    }
    press(event) {
      const target = event.target.closest("th, td");
      if (!target || event.ctrlKey || event.altKey || event.metaKey) return;
      const tr = target.parentElement;
      const at = [...tr.children].indexOf(target);
      const open = tr.getAttribute("aria-expanded");
      const go = (row) => row && this.step(row.children[Math.min(at, row.children.length - 1)]);
      const keys = {
        ArrowDown: () => go(tr.nextElementSibling),
        ArrowUp: () => go(tr.previousElementSibling),
        Home: () => (at ? this.step(tr.children[0]) : go(this.body.firstElementChild)),
        End: () => (at ? this.step(tr.lastElementChild) : go(this.body.lastElementChild)),
        ArrowRight: () => {
          if (at === 0 && (open === "false" || tr.more !== undefined)) this.act(tr, target);
          else if (tr.children[at + 1]) this.step(tr.children[at + 1]);
        },
        ArrowLeft: () => {
          if (at > 0) this.step(tr.children[at - 1]);
          else if (open === "true") this.act(tr, target);
          else {
            const above = [...this.body.children].find((other) => other.code === this.rows.parent[tr.code]);
            if (above) this.step(above.children[0]);
          }
        },
        Enter: () => this.act(tr, target),
        " ": () => this.act(tr, target),
      };
      if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
    }
  }

  const drawn = new Map();
  for (const root of document.querySelectorAll("[data-grid]")) {
    const data = grids[Number(root.dataset.grid)];
    drawn.set(data.name, new Grid(root, data));
  }
  NARROW.addEventListener("change", () => drawn.forEach((grid) => grid.draw()));
  for (const link of document.querySelectorAll("[data-go]")) {
    link.addEventListener("click", (event) => {
      const [table, codes] = JSON.parse(link.dataset.go);
      if (drawn.has(table) && drawn.get(table).show(codes)) event.preventDefault();
    });
  }
  // Lists that can be searched and filtered.
  const FILTERS = {
    status: say("any status"), table: say("any table"), reason: say("any reason"), level: say("any level"),
    before: say("any status before"), now: say("any status now"),
  };
  for (const list of document.querySelectorAll(".filtered")) {
    const rows = [...list.querySelectorAll("tbody tr")];
    const search = make("input", { type: "search", placeholder: say("code or label") });
    const count = make("span", { class: "muted", "aria-live": "polite" });
    const choices = list.dataset.filters.split(",").map((name) => {
      const of = (row) => (row.dataset[name] || "").split("; ");
      const words = [...new Set(rows.flatMap(of))].filter(Boolean);
      const select = make("select", { "aria-label": FILTERS[name] }, make("option", { value: "" }, FILTERS[name]));
      words.forEach((word) => select.append(make("option", { value: word }, word)));
      return { select, of, use: words.length > 1 };
    }).filter((choice) => choice.use);
    const apply = () => {
      const wanted = search.value.trim().toLowerCase();
      let seen = 0;
      for (const row of rows) {
        const fits = row.cells[0].textContent.toLowerCase().includes(wanted)
          && choices.every(({ select, of }) => !select.value || of(row).includes(select.value));
        row.hidden = !fits;
        seen += fits;
      }
      count.textContent = say("{n} of {n2} cells", { n: whole(seen), n2: whole(rows.length) });
    };
    [search, ...choices.map(({ select }) => select)].forEach((node) => node.addEventListener("input", apply));
    list.prepend(make("div", { class: "tools" }, make("label", {}, say("Search"), search), ...choices.map(({ select }) => select), count));
    apply();
  }
  const sheets = () => document.querySelectorAll(".sheet table");
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    closed.forEach((node) => { node.open = true; });
    sheets().forEach((table) => { table.style.zoom = Math.min(0.85, PAPER / table.offsetWidth); });
  });
  addEventListener("afterprint", () => {
    closed.forEach((node) => { node.open = false; });
    sheets().forEach((table) => { table.style.zoom = ""; });
  });
})();
