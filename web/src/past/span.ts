// Span: a time of the past that is looked at, where in it the playback is, and how fast; how it is written in the
// page's address, and the times and days that people choose. Pure.

export interface PastView {
  /** Unix ms; to is behind from. */
  from: number;
  to: number;
  /** Where the playback is, Unix ms within the span. */
  t: number;
  /** Seconds of the past for each second of the viewer. */
  speed: number;
}

export const speeds: readonly number[] = [1, 2, 5, 10, 30, 60, 120, 300, 600];

export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
/** A span is at least this long, and at most that. */
export const shortestMs = minuteMs;
export const longestMs = 31 * 24 * hourMs;

/** A view of a span from its beginning on, at a speed at which it lasts about a minute or two. */
export function viewOf(from: number, to: number): PastView {
  const wanted = (to - from) / minuteMs;
  return { from, to, t: from, speed: speeds.find((speed) => speed >= wanted) ?? speeds.at(-1)! };
}

/** The nearest of the speeds. */
export function nearestSpeed(speed: number): number {
  return speeds.reduce((best, other) => (Math.abs(Math.log(other / speed)) < Math.abs(Math.log(best / speed)) ? other : best));
}

/** "2026-03-12T11:00:00Z", with milliseconds unless they are 0. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString().replace(".000Z", "Z");
}

/** The parts of an address for a view: past=FROM,TO · t= · speed=. */
export function formatPast({ from, to, t, speed }: PastView): string[] {
  return [`past=${timeText(from)},${timeText(to)}`, `t=${timeText(Math.round(t))}`, `speed=${speed}`];
}

/** Reads what formatPast wrote. A part that makes no sense has a default; without a sound span there is no view. */
export function parsePast(past: string | undefined, t: string | undefined, speed: string | undefined): PastView | null {
  const [from = NaN, to = NaN, ...rest] = (past ?? "").split(/,|%2C/i).map(parseTime);
  if (rest.length > 0 || !isSound(from, to)) return null;
  const view = viewOf(from, to);
  const at = parseTime(t ?? "");
  if (at >= from && at <= to) view.t = at;
  const given = Number(speed ?? "");
  if (given > 0 && Number.isFinite(given)) view.speed = nearestSpeed(given);
  return view;
}

export function isSound(from: number, to: number): boolean {
  return to - from >= shortestMs && to - from <= longestMs;
}

function parseTime(text: string): number {
  const decoded = text.replace(/%3A/gi, ":").replace(/%2B/gi, "+");
  // Without a zone it would be a different time for each viewer.
  return /^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:\d\d)$/i.test(decoded) ? Date.parse(decoded) : NaN;
}

const two = (n: number): string => String(n).padStart(2, "0");

/** The date of a time, as a date field has it: "2026-03-12". */
export function dateText(ms: number, utc: boolean): string {
  const d = new Date(ms);
  if (utc) return d.toISOString().slice(0, 10);
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
}

/** A time as a field for date and time has it: "2026-03-12T11:00:00". */
export function fieldText(ms: number, utc: boolean): string {
  const d = new Date(ms);
  if (utc) return d.toISOString().slice(0, 19);
  return `${dateText(ms, false)}T${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}

/** The time that a field holds; NaN if none. */
export function parseField(text: string, utc: boolean): number {
  return Date.parse(utc ? `${text}Z` : text);
}

/** From midnight to midnight; 23 or 25 hours where the clocks change. */
export function dayOf(date: string, utc: boolean): [from: number, to: number] {
  if (utc) {
    const from = Date.parse(`${date}T00:00:00Z`);
    return [from, from + 24 * hourMs];
  }
  const midnight = (of: string): number => new Date(`${of}T00:00:00`).getTime();
  const from = midnight(date);
  // Where the clocks change at midnight a day begins at one.
  return [from, Number.isNaN(from) ? NaN : midnight(dateAfter(date, 1))];
}

/** The times of full minutes, hours or days in a span, at most nine of them, and whether they are days. */
export function marksOf(from: number, to: number, utc: boolean): { times: number[]; days: boolean } {
  const units = [1, 2, 5, 10, 15, 30, 60, 120, 180, 240, 360, 720, 1440, 2880, 5760, 10_080].map((minutes) => minutes * minuteMs);
  const unit = units.find((ms) => (to - from) / ms <= 8) ?? 24 * hourMs * 7;
  const times: number[] = [];
  const at = utc || unit < hourMs ? steadily(from, unit, utc) : byTheClock(from, unit);
  for (let i = 0, t = at(0); t <= to; t = at(++i)) if (t >= from && t > (times.at(-1) ?? -Infinity)) times.push(t);
  return { times, days: unit >= 24 * hourMs };
}

/** Multiples of a unit, by number, in the viewer's zone as it is at a time. */
function steadily(from: number, unit: number, utc: boolean): (i: number) => number {
  const shift = utc ? 0 : new Date(from).getTimezoneOffset() * minuteMs;
  const first = Math.ceil((from - shift) / unit) * unit + shift;
  return (i) => first + i * unit;
}

/** Full hours or days of the viewer's calendar, by number, from the day of a time on. */
function byTheClock(from: number, unit: number): (i: number) => number {
  const start = new Date(from);
  const [year, month, day] = [start.getFullYear(), start.getMonth(), start.getDate()];
  const hours = unit / hourMs;
  if (hours < 24) return (i) => new Date(year, month, day, i * hours).getTime();
  const days = hours / 24;
  const first = day - (Math.floor(Date.UTC(year, month, day) / (24 * hourMs)) % days);
  return (i) => new Date(year, month, first + i * days).getTime();
}

/** Another date, so many days later. */
export function dateAfter(date: string, days: number): string {
  const d = new Date(`${date}T00:00:00Z`);
  d.setUTCDate(d.getUTCDate() + days);
  return d.toISOString().slice(0, 10);
}

/** Whether a span is one day of the calendar, and which. */
export function dateOfSpan({ from, to }: Pick<PastView, "from" | "to">, utc: boolean): string | null {
  const date = dateText(from, utc);
  const [begin, end] = dayOf(date, utc);
  return begin === from && end === to ? date : null;
}

export interface Choice {
  id: string;
  label: string;
  span: (now: number, utc: boolean) => [from: number, to: number];
}

/** The spans that are one choice away. They end at the last full second. */
export const choices: readonly Choice[] = [
  { id: "15m", label: "Last 15 minutes", span: (now) => lately(now, 15 * minuteMs) },
  { id: "1h", label: "Last hour", span: (now) => lately(now, hourMs) },
  { id: "6h", label: "Last 6 hours", span: (now) => lately(now, 6 * hourMs) },
  { id: "today", label: "Today", span: (now, utc) => dayOf(dateText(now, utc), utc) },
  { id: "yesterday", label: "Yesterday", span: (now, utc) => dayOf(dateAfter(dateText(now, utc), -1), utc) },
];

function lately(now: number, ms: number): [number, number] {
  const to = Math.floor(now / 1000) * 1000;
  return [to - ms, to];
}

/** How fast: "60×". */
export function speedText(speed: number): string {
  return `${speed}×`;
}
