// The page of the inspector. Whatever came in requests and answers is shown as text, never as markup.

const everyMs = 1000;
const away = "The tunnel's client is away.";
const find = (id) => document.getElementById(id);
let chosen = 0;
let underWay = false; // the chosen one, when it was drawn

/** An element with text or other elements in it. */
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

const time = (us) => (us < 1e6 ? `${(us / 1000).toPrecision(2)} ms` : `${(us / 1e6).toFixed(1)} s`);
const size = (n) => (n < 1024 ? `${n} B` : n < 1048576 ? `${(n / 1024).toFixed(1)} KiB` : `${(n / 1048576).toFixed(1)} MiB`);
const bad = (x) => x.fault !== undefined || x.status >= 500;

function row(x) {
  const name = `${x.method} ${x.host}${x.target}`;
  const open = make("button", { type: "button", "data-id": x.id, "aria-current": String(x.id === chosen) }, name.length > 120 ? `${name.slice(0, 120)}…` : name);
  const took = x.took_us === undefined ? "under way" : time(x.took_us);
  return make(
    "tr",
    { class: bad(x) ? "bad" : undefined, click: () => choose(x.id) }, // the button's clicks come here too
    make("td", {}, new Date(x.began).toLocaleTimeString()),
    make("td", {}, open, x.replay_of ? " again" : "", x.fault ? ` ${x.fault}` : ""),
    make("td", {}, String(x.status ?? (x.fault ? "none" : "…"))),
    make("td", {}, took),
  );
}

let drawn = "";

async function refresh() {
  try {
    const response = await fetch("v1/exchanges");
    if (!response.ok) throw new Error(await response.text());
    const all = await response.json();
    find("state").className = "";
    find("state").textContent = `${all.exchanges.length} kept of at most ${all.max}, ${size(all.bytes)} of ${size(all.max_bytes)}; ${all.dropped} fell out`;
    find("none").hidden = all.exchanges.length > 0;
    find("table").hidden = all.exchanges.length === 0;
    const now = JSON.stringify(all.exchanges);
    if (now !== drawn) {
      drawn = now;
      const focused = document.activeElement?.dataset?.id;
      find("list").replaceChildren(...all.exchanges.map(row));
      if (focused) find("list").querySelector(`[data-id="${CSS.escape(focused)}"]`)?.focus();
    }
    if (underWay && all.exchanges.some((x) => x.id === chosen && x.took_us !== undefined)) await show(chosen);
  } catch {
    find("state").className = "lost";
    find("state").textContent = away;
  }
}

async function list() {
  await refresh();
  setTimeout(list, everyMs);
}

const deepest = 100;

/** JSON with a line for each member, its tokens as they were sent; other text stays as it is. Indentation ends at a depth, as 16 KiB may be nested 8,000 deep. */
function indented(text) {
  try {
    if (typeof JSON.parse(text) !== "object") return text;
  } catch {
    return text;
  }
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g);
  let out = "";
  let depth = 0;
  tokens.forEach((token, i) => {
    const closes = token === "}" || token === "]";
    const empty = closes && (tokens[i - 1] === "{" || tokens[i - 1] === "[");
    if (closes) depth--;
    if (closes && !empty) out += `\n${"  ".repeat(Math.min(depth, deepest))}`;
    out += token;
    if (token === ":") out += " ";
    const opens = token === "{" || token === "[";
    if (opens) depth++;
    if (token === "," || (opens && tokens[i + 1] !== "}" && tokens[i + 1] !== "]")) out += `\n${"  ".repeat(Math.min(depth, deepest))}`;
  });
  return out;
}

function part(title, bytes, { fields, text, base64, cut }) {
  const body = text === undefined ? base64 : indented(text);
  return [
    make("h3", {}, title),
    make("pre", { tabindex: 0 }, fields.map(({ name, value }) => `${name}: ${value}`).join("\n")),
    make("h3", {}, `${title}'s body: ${size(bytes)}${cut ? ", of which this is the beginning" : ""}${base64 ? ", in base64" : ""}`),
    ...(body ? [make("pre", { tabindex: 0 }, body)] : []),
  ];
}

async function choose(id) {
  chosen = id;
  for (const button of find("list").querySelectorAll("button")) button.setAttribute("aria-current", String(button.dataset.id === String(id)));
  try {
    await show(id);
  } catch {
    find("detail").replaceChildren(make("p", {}, away));
  }
  if (matchMedia("(max-width: 799px)").matches) find("detail").scrollIntoView();
}

async function show(id) {
  const response = await fetch(`v1/exchanges/${id}`);
  const x = response.ok ? await response.json() : undefined;
  const fault = response.ok ? "" : await response.text();
  if (id !== chosen) return; // another was chosen meanwhile
  underWay = x !== undefined && x.took_us === undefined;
  if (x === undefined) {
    find("detail").replaceChildren(make("p", {}, fault));
    return;
  }
  const said = make("p", { role: "status" });
  const again = make("button", { type: "button", class: "do", disabled: !x.replayable, click: () => replay(id, said) }, "Send again");
  find("detail").replaceChildren(
    make("h2", {}, `${x.method} ${x.host}${x.target}`),
    make("p", {}, [x.fault ?? x.status ?? "under way", x.to_head_us && `head after ${time(x.to_head_us)}`, x.took_us && `all after ${time(x.took_us)}`, `tunnel ${x.tunnel}`].filter(Boolean).join("; ")),
    make("p", {}, again, x.replayable ? "" : " Not to be sent again: it asked for another protocol, or is not kept whole."),
    said,
    ...part("Request", x.sent, x.request),
    ...part("Answer", x.received, x.answer),
  );
}

async function replay(id, said) {
  said.textContent = "Sending…";
  try {
    const response = await fetch(`v1/exchanges/${id}/replay`, { method: "POST" });
    said.textContent = response.ok ? "Sent; what came of it is in the list." : await response.text();
    await refresh();
  } catch {
    said.textContent = away;
  }
}

list();
