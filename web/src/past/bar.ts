// The bar of the playback, at the foot of the map; in the present it is a button that opens the last hour.

import type { App } from "../app";
import { fill, h, icon, setText, type IconName } from "../dom";
import { formatCount } from "../format";
import { utc } from "../ui/zone";
import { maxObjects } from "./chunk";
import { openLastHour } from "./keys";
import { createSlider, formatDate, showTime } from "./slider";
import { choices, fieldText, isSound, parseField, speeds, speedText } from "./span";

export function createPlayback(app: App, page: HTMLElement): HTMLElement {
  const { past } = app;
  const open = h(
    "button",
    { type: "button", class: "past-open card", title: "Play back what happened (h)", onclick: () => openLastHour(app) },
    icon("history"),
    "Past",
  );
  const back = h("button", { type: "button", class: "past-live", title: "Back to the present (l)", onclick: () => past.live() }, h("i", { "aria-hidden": "true" }), "Back to live");
  const clock = h("span", { class: "past-time" });
  const day = h("button", { type: "button", class: "past-day", title: "Times in your zone or in UTC (u)", onclick: () => utc.set(!utc.value) });
  const note = h("p", { class: "past-note", role: "status", hidden: true });
  const span = createSpan(app);
  const bar = h(
    "section",
    { class: "playback card", "aria-label": "Playback", hidden: true },
    h("div", { class: "past-row" }, transport(app), h("div", { class: "past-now" }, clock, day), createSpeed(app), span.select, back),
    span.form,
    createSlider(app),
    note,
  );
  const draw = (): void => {
    if (past.active) showTime(app, clock, day);
  };
  past.tick.watch(draw);
  utc.watch(draw);
  past.status.bind(({ loading, error, gone, partial }) => {
    bar.classList.toggle("is-loading", loading);
    const more = partial ? `${formatCount(maxObjects)} objects are shown, and more are there: come closer, or choose a fleet.` : "";
    setText(note, gone ? error : error === "" ? more : `${error} It is tried again.`);
    note.hidden = note.textContent === "";
    bar.classList.toggle("is-gone", gone);
  });
  const shown = (): void => {
    const { active } = past;
    page.classList.toggle("in-past", active);
    bar.hidden = !active;
    open.hidden = active;
    draw();
    app.covered.update((n) => n + 1);
  };
  app.scene.watch(shown);
  if (past.active) shown();
  return h("div", { class: "past" }, open, bar);
}

function transport(app: App): HTMLElement {
  const { past } = app;
  const button = (name: IconName, label: string, run: () => void, className = "icon-button"): HTMLButtonElement =>
    h("button", { type: "button", class: className, "aria-label": label, title: label, onclick: run }, icon(name));
  const play = button("play", "Play (space)", () => past.toggle(), "past-play");
  let playing = false;
  past.tick.watch(() => {
    if (past.clock.playing === playing) return;
    playing = past.clock.playing;
    fill(play, icon(playing ? "pause" : "play"));
    const label = playing ? "Stop (space)" : "Play (space)";
    play.setAttribute("aria-label", label);
    play.title = label;
  });
  return h(
    "div",
    { class: "past-transport", role: "group", "aria-label": "Play" },
    button("previous", "To the event before (,)", () => void past.step(-1)),
    play,
    button("next", "To the next event (.)", () => void past.step(1)),
  );
}

function createSpeed(app: App): HTMLElement {
  const { past } = app;
  const select = h(
    "select",
    { class: "past-speed", "aria-label": "Speed", title: "Speed ([ and ])", onchange: () => past.setSpeed(Number(select.value)) },
    ...speeds.map((speed) => h("option", { value: speed }, speedText(speed))),
  );
  past.tick.bind(() => {
    const value = String(past.clock.speed);
    if (select.value !== value) select.value = value;
  });
  return select;
}

const custom = "custom";

/** The choice of the span, and the form for any other one. */
function createSpan(app: App): { select: HTMLElement; form: HTMLElement } {
  const { past } = app;
  const present = h("option", { value: "" });
  const select = h(
    "select",
    {
      class: "past-span",
      "aria-label": "Span",
      onchange: () => {
        const choice = choices.find(({ id }) => id === select.value);
        const other = select.value === custom;
        form.hidden = !other;
        if (choice) past.open(...choice.span(Date.now(), utc.value));
        select.value = "";
        if (other) openForm();
      },
    },
    present,
    ...choices.map(({ id, label }) => h("option", { value: id }, label)),
    h("option", { value: custom }, "From – to…"),
  );
  const from = h("input", { type: "datetime-local", step: 1, "aria-label": "From" });
  const to = h("input", { type: "datetime-local", step: 1, "aria-label": "To" });
  const wrong = h("span", { class: "past-wrong", role: "alert" });
  const submit = (event: Event): void => {
    event.preventDefault();
    const [begin, end] = [parseField(from.value, utc.value), parseField(to.value, utc.value)];
    const sound = isSound(begin, end);
    setText(wrong, sound ? "" : "One minute to 31 days, please.");
    if (!sound) return;
    form.hidden = true;
    past.open(begin, end);
    select.focus();
  };
  const form = h(
    "form",
    { class: "past-form", hidden: true, onsubmit: submit },
    from,
    h("span", { "aria-hidden": "true" }, "–"),
    to,
    h("button", { type: "submit" }, "Show"),
    h("button", { type: "button", onclick: () => (form.hidden = true) }, "Cancel"),
    wrong,
  );
  const openForm = (): void => {
    from.value = fieldText(past.clock.from, utc.value);
    to.value = fieldText(past.clock.to, utc.value);
    setText(wrong, "");
    from.focus();
  };
  const draw = (): void => setText(present, spanText(past.clock.from, past.clock.to));
  past.tick.bind(draw);
  utc.watch(draw);
  return { select, form };
}

/** "Thu, 12 Mar, 11:00 – 12:00". */
function spanText(from: number, to: number): string {
  if (to <= from) return "";
  const time = (t: number): string => fieldText(t, utc.value).slice(11, 16);
  const [first, last] = [formatDate(from), formatDate(to - 1)];
  if (first !== last) return `${first} – ${last}`;
  const whole = time(from) === "00:00" && time(to) === "00:00";
  return whole ? first : `${first}, ${time(from)} – ${time(to)}`;
}
