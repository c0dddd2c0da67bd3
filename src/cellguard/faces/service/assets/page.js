// One page: choose, ask, see the table or why there is none, download it. Nothing is kept but the key, in this page.
const at = (id) => document.getElementById(id);
let key = null, last = null;

const make = (word, text = "", more = {}) => Object.assign(document.createElement(word), { textContent: text, ...more });

const ask = (path, options = {}) =>
  fetch(path, { ...options, headers: { ...(key ? { "x-api-key": key } : {}), ...(options.headers || {}) } });

async function start() {
  const reply = await ask("/api/about");
  if (reply.status === 401) {
    at("enter").classList.remove("off");
    at("enter-note").textContent = key ? "This key is not known." : "";
    at("key").focus();
    return;
  }
  const about = await reply.json();
  if (!reply.ok) return tell(about.error);
  at("enter").classList.add("off");
  draw(about);
}

function draw(about) {
  document.title = about.title;
  at("title").textContent = about.title;
  at("value").replaceChildren(...about.values.map((name) => make("option", name, { value: name })));
  at("variables").replaceChildren(...about.variables.map(variable));
  at("ask").classList.remove("off");
  footer(about);
}

function variable({ name, levels, codes }) {
  const row = make("div", "", { className: "variable" });
  const pick = make("label", "", { className: "pick" });
  pick.append(make("input", "", { type: "checkbox", name: "by", value: name }), name);
  const depth = make("select", "", { name: "level" });
  depth.dataset.of = name;
  depth.setAttribute("aria-label", `levels of ${name}`);
  depth.append(make("option", "all levels", { value: "" }));
  for (let level = 1; level < levels; level += 1) depth.append(make("option", `level ${level} only`, { value: level }));
  const filter = make("select", "", { name: "where" });
  filter.dataset.of = name;
  filter.setAttribute("aria-label", `only records of one ${name}`);
  filter.append(make("option", "all records", { value: "" }));
  for (const { code, level, label } of codes) {
    if (level > 0) filter.append(make("option", `${"\u2007".repeat(level - 1)}only ${label}`, { value: code }));
  }
  row.append(pick, depth, filter);
  return row;
}

function footer(about) {
  const told = Object.entries(about.exposure).map(([name, share]) => `${name}: ${(100 * share).toFixed(1)} %`);
  at("about").replaceChildren(
    ...(told.length ? [make("p", `Told so far of all that could be told: ${told.join(", ")}.`)] : []),
    make("p", `Checked over all answers together: ${about.checked.join("; ")}.`),
    make("p", `Not checked: ${about.not_checked.join("; ")}.`),
  );
}

function question() {
  const chosen = [...document.querySelectorAll("[name=by]:checked")].map((box) => box.value);
  const pairs = (name) => [...document.querySelectorAll(`[name=${name}]`)].filter((box) => box.value !== "");
  return {
    by: chosen,
    value: at("value").value,
    levels: Object.fromEntries(
      pairs("level").filter((box) => chosen.includes(box.dataset.of)).map((box) => [box.dataset.of, [Number(box.value)]]),
    ),
    where: Object.fromEntries(pairs("where").map((box) => [box.dataset.of, [box.value]])),
  };
}

async function put(asked) {
  last = asked;
  at("go").disabled = true;
  tell("One moment ...", "muted");
  try {
    const reply = await send(asked, "json");
    const answer = await reply.json();
    if (!reply.ok) tell(answer.error);
    else if (answer.answered) table(answer);
    else no(answer);
    const about = await ask("/api/about");
    if (about.ok) footer(await about.json());
  } catch {
    tell("The service does not answer.");
  }
  at("go").disabled = false;
}

const send = (asked, format) =>
  ask("/api/table", {
    method: "POST",
    body: JSON.stringify({ ...asked, format }),
    headers: { "content-type": "application/json" },
  });

const tell = (words, kind = "no") => at("result").replaceChildren(make("p", words, { className: kind }));

function no(answer) {
  const parts = [make("h2", "No"), make("p", `${answer.reason}.`, { className: "no" })];
  if (answer.instead.length) {
    parts.push(make("p", "These would be answered:"));
    const row = make("div", "", { className: "row" });
    for (const { words, ...other } of answer.instead) {
      const button = make("button", words, { className: "plain", type: "button" });
      button.addEventListener("click", () => put(other));
      row.append(button);
    }
    parts.push(row);
  }
  at("result").replaceChildren(...parts);
}

function table(answer) {
  const grid = make("table"), head = make("tr"), body = make("tbody"), top = make("thead");
  answer.columns.forEach((name, i) => head.append(make("th", name, { scope: "col", className: i === answer.columns.length - 1 ? "n" : "" })));
  top.append(head);
  for (const row of answer.rows) {
    const line = make("tr"), value = row.at(-1);
    row.slice(0, -1).forEach((code) => line.append(make("td", code)));
    line.append(make("td", value ?? "withheld", { className: value === null ? "n gone" : "n" }));
    body.append(line);
  }
  grid.append(top, body);
  const scroll = make("div", "", { className: "scroll", tabIndex: 0 });
  scroll.append(grid);
  const files = make("div", "", { className: "row" });
  for (const [format, ending] of [["csv", "csv"], ["arrow", "arrow"], ["sdmx", "sdmx.csv"]]) {
    const button = make("button", `Download ${ending}`, { className: "plain", type: "button" });
    button.addEventListener("click", () => download(format, ending));
    files.append(button);
  }
  const notes = answer.withheld ? [make("p", `${answer.withheld} cells are not shown: ${answer.reason}.`, { className: "muted" })] : [];
  at("result").replaceChildren(make("h2", answer.words), ...notes, files, scroll);
}

async function download(format, ending) {
  const reply = await send(last, format);
  if (!reply.ok) return tell((await reply.json()).error || "There is no table.");
  const link = make("a", "", { href: URL.createObjectURL(await reply.blob()), download: `table.${ending}` });
  link.click();
  URL.revokeObjectURL(link.href);
}

at("enter").addEventListener("submit", (event) => {
  event.preventDefault();
  key = at("key").value.trim();
  start();
});
at("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  put(question());
});
start();
