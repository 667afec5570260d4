// Numbers, times and durations as the page shows them. Times are in the viewer's zone, or in UTC where that is said.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const tenth = new Intl.NumberFormat("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const ofDay: Intl.DateTimeFormatOptions = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
const clock = new Intl.DateTimeFormat(undefined, ofDay);
const clockUTC = new Intl.DateTimeFormat(undefined, { ...ofDay, timeZone: "UTC" });

/** 7 -> "7", 1234 -> "1,234", 56789 -> "56.8 k", 1234567 -> "1.23 M", then G and T. Below ten, one decimal unless it is whole. */
export function formatCount(n: number): string {
  if (!Number.isFinite(n)) return "–";
  if (n >= 999.5e12) return `${whole.format(n / 1e12)} T`;
  if (n >= 999.5e9) return `${(n / 1e12).toPrecision(3)} T`;
  if (n >= 999.5e6) return `${(n / 1e9).toPrecision(3)} G`;
  if (n >= 1e6) return `${(n / 1e6).toPrecision(3)} M`;
  if (n >= 1e5) return `${whole.format(n / 1e3)} k`;
  if (n >= 2e4) return `${tenth.format(n / 1e3)} k`;
  if (n < 10 && n % 1 !== 0) return tenth.format(n);
  return whole.format(n);
}

/** For little room: 950 -> "950", 1234 -> "1.2k", 56789 -> "57k", 1234567 -> "1.2M", then G. */
export function formatCompact(n: number): string {
  if (n < 1000) return String(Math.round(n));
  const [value, unit] = n < 999_500 ? [n / 1e3, "k"] : n < 999.5e6 ? [n / 1e6, "M"] : [n / 1e9, "G"];
  return `${value < 9.95 ? value.toFixed(1).replace(/\.0$/, "") : Math.round(value)}${unit}`;
}

/** 0.42 -> "0.42 ms", 4.2 -> "4.2 ms", 42 -> "42 ms", 4200 -> "4.2 s". */
export function formatLatency(ms: number): string {
  if (!Number.isFinite(ms)) return "–";
  if (ms >= 1000) return `${tenth.format(ms / 1000)} s`;
  if (ms >= 10) return `${whole.format(ms)} ms`;
  return `${ms.toPrecision(2)} ms`;
}

/** Bytes in binary units: 73400320 -> "70 MiB". */
export function formatBytes(bytes: number): string {
  if (!Number.isFinite(bytes)) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value >= 10 || unit === 0 ? whole.format(value) : tenth.format(value)} ${units[unit]}`;
}

/** 400 -> "0.4 s", 42000 -> "42 s", 405250 -> "6 min 45 s", 7800000 -> "2 h 10 min", 200000000 -> "2 d 7 h". */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms)) return "–";
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const s = Math.round(seconds);
  if (s < 60) return `${s} s`;
  if (s < 3600) return pair(s, 60, "min", 1, "s");
  if (s < 86400) return pair(s, 3600, "h", 60, "min");
  return pair(s, 86400, "d", 3600, "h");
}

function pair(value: number, big: number, bigUnit: string, small: number, smallUnit: string): string {
  const rest = Math.floor((value % big) / small);
  const text = `${Math.floor(value / big)} ${bigUnit}`;
  return rest === 0 ? text : `${text} ${rest} ${smallUnit}`;
}

/** The time of day, to the second. */
export function formatClock(time: Date | number, utc = false): string {
  return (utc ? clockUTC : clock).format(time);
}

/** The exact instant in UTC: "2026-03-12 11:16:45.250 UTC". */
export function formatUTC(time: Date | number): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return "unknown";
  return date.toISOString().replace("T", " ").replace("Z", " UTC");
}

/** The exact instant in the viewer's zone and in UTC, for a tooltip. */
export function formatBoth(time: Date | number): string {
  const [local, utc] = [formatInstant(time), formatUTC(time)];
  return local.replace(/ \S+$/, "") === utc.replace(/ \S+$/, "") ? utc : `${local}\n${utc}`;
}

/** The exact instant with its zone, for a tooltip: "2026-03-12 12:16:45.250 GMT+1". */
export function formatInstant(time: Date | number): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return "unknown";
  const two = (n: number): string => String(n).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  const ms = String(date.getMilliseconds()).padStart(3, "0");
  const zone = new Intl.DateTimeFormat("en", { timeZoneName: "short" }).formatToParts(date);
  const name = zone.find((part) => part.type === "timeZoneName")?.value ?? "";
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${ms} ${name}`.trim();
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${formatCount(n)} ${n === 1 ? one : many}`;
}

/** 0 -> "N", 47 -> "NE"; the direction that a heading in degrees points to. */
export function compass(heading: number): string {
  const names = ["N", "NE", "E", "SE", "S", "SW", "W", "NW"];
  return names[Math.round(((heading % 360) + 360) / 45) % 8]!;
}

/** 0.4 -> "0.4 m", 25 -> "25 m", 1234 -> "1.2 km". */
export function formatDistance(metres: number): string {
  if (!Number.isFinite(metres)) return "–";
  if (metres >= 1000) return `${(metres / 1000).toFixed(1).replace(/\.0$/, "")} km`;
  return `${metres < 10 ? tenth.format(metres).replace(/\.0$/, "") : whole.format(metres)} m`;
}

/** A length for a scale bar: the largest of 1, 2 and 5 times a power of ten that is not above the given metres. */
export function roundLength(metres: number): number {
  const power = 10 ** Math.floor(Math.log10(metres));
  return power * ([5, 2].find((step) => step * power <= metres) ?? 1);
}

/** A place in the order that maps and people use: "40.712800, -74.006000". */
export function formatPlace(lat: number, lon: number, digits = 6): string {
  return `${lat.toFixed(digits)}, ${lon.toFixed(digits)}`;
}

/** Metres per second as kilometres per hour. */
export function formatSpeed(metersPerSecond: number): string {
  return `${whole.format(metersPerSecond * 3.6)} km/h`;
}
