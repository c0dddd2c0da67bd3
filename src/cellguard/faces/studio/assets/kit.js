// What all rooms use: elements, questions to the server, words in the chosen language, and messages.

export const state = { session: null, job: null, found: null, news: {}, look: {}, run: null, table: null };

let catalogue = {};
export let language = "en";

export async function speak(tongue) {
  if (!Object.keys(catalogue).length) catalogue = await (await fetch("/assets/words.json")).json();
  language = tongue;
  document.documentElement.lang = tongue;
  for (const node of document.querySelectorAll("[data-t]")) node.textContent = t(node.dataset.t);
}

// The words of a key; {name} stands for what is filled in.
export function t(key, filled = {}) {
  const text = catalogue[key]?.[language] ?? catalogue[key]?.en ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in filled ? filled[name] : whole));
}

export const number = (value) => (value === null || value === undefined ? "" : new Intl.NumberFormat(language).formatToParts(value).map((part) => (part.type === "group" && language !== "en" ? "\u202f" : part.value)).join(""));

// Makes an element: attributes, `on...` listeners, children (texts, elements, lists of these, nothing).
export function h(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name in node && ["value", "checked", "selected", "disabled", "open"].includes(name)) node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  return add(node, children);
}

// Puts children into an element, behind those that are there, or instead of them.
export function add(node, ...children) {
  node.append(...children.flat(4).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export function fill(node, ...children) {
  node.replaceChildren();
  return add(node, children);
}

export function options(choices, chosen) {
  return choices.map(([value, text]) => h("option", { value, selected: value === chosen }, text));
}

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export async function ask(path, { method = "GET", body, raw, signal } = {}) {
  const headers = { "Accept-Language": language };
  if (method !== "GET" && state.session) headers["X-Cellguard-Word"] = state.session.word;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(`/api/${path}`, { method, headers, body: raw ?? (body === undefined ? undefined : JSON.stringify(body)), signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, t("gone"));
  }
  if (answer.status === 401) throw new Refused(401, t("away"));
  const told = await answer.json().catch((error) => {
    if (error.name === "AbortError") throw error; // given up while the answer was being read
    return {};
  });
  if (!answer.ok) throw new Refused(answer.status, told.error || t("failed"));
  return told;
}

export const post = (path, body = {}) => ask(path, { method: "POST", body });
export const put = (path, body) => ask(path, { method: "PUT", body });

let fading;
export function toast(text, bad = false) {
  const node = document.getElementById("toast");
  node.textContent = text;
  node.className = `toast shown${bad ? " bad" : ""}`;
  clearTimeout(fading);
  fading = setTimeout(() => node.classList.remove("shown"), bad ? 9000 : 4000);
}

// Runs what a person asked for; what goes wrong is said.
export async function attempt(act) {
  try {
    return await act();
  } catch (error) {
    if (error.name !== "AbortError") toast(error.message, true);
    return undefined;
  }
}

export function busy(button, act) {
  return async (event) => {
    event?.preventDefault();
    button.disabled = true;
    try {
      await attempt(act);
    } finally {
      button.disabled = false;
    }
  };
}

// A button that cannot be pressed twice while its work goes on.
export function button(text, act, attributes = {}) {
  const node = h("button", { type: "button", ...attributes }, text);
  node.addEventListener("click", busy(node, act));
  return node;
}

export const isMaker = () => state.session?.role === "maker";
export const chip = (kind, text) => h("span", { class: `chip ${kind}` }, text);
export const MARKS = { unsafe: "●", primary: "●", secondary: "○", unpublished: "–", sensitive: "○", protected: "○", suppressed: "–", kept: "=", accepted: "!", "not proven": "?" };
export const KIND = { unsafe: "p", primary: "p", secondary: "s", sensitive: "s", protected: "s", suppressed: "u", unpublished: "u", accepted: "a", "not proven": "a" };
export const statusWord = (word) => t(`status_${word.replace(" ", "_")}`);
export const field = (text, control) => h("label", { class: "field" }, h("span", {}, text), control);
