// Rules: what one says in a line, and its usual fields as a form. A form keeps the members that it does not show. Pure.

/** A rule as the server has it; further members are kept as they are. */
export interface Rule {
  id?: string;
  set?: string;
  fences?: unknown;
  objects?: string;
  fleet?: string;
  detect?: string[];
  dwell?: { after?: string; every?: string };
  inside?: { every?: string };
  outside?: { every?: string };
  when?: string;
  direction?: string;
  active?: Schedule;
  count?: { at_least?: number };
  near?: { objects?: string; fleet?: string; metres?: number; exit_metres?: number };
  deliver?: unknown;
  enabled?: boolean;
}

export interface Schedule {
  zone?: string;
  week?: Record<string, string | string[]>;
  valid_from?: string;
  valid_until?: string;
}

export const detectable = ["enter", "exit", "inside", "outside", "cross", "dwell", "condition"] as const;

/** The fields of the form, as text. */
export interface RuleForm {
  id: string;
  /** What the rule is about: fences, or objects near each other. */
  about: "fences" | "near";
  set: string;
  fences: "all" | "ids" | "where";
  /** Ids one a line, or properties as name=value one a line. */
  fencesText: string;
  objects: string;
  fleet: string;
  detect: readonly string[];
  dwellAfter: string;
  dwellEvery: string;
  insideEvery: string;
  outsideEvery: string;
  when: string;
  direction: string;
  zone: string;
  /** Windows one a line: "mon-fri 07:00-09:00, 14:00-16:00". */
  week: string;
  validFrom: string;
  validUntil: string;
  atLeast: string;
  nearObjects: string;
  nearFleet: string;
  metres: string;
  exitMetres: string;
  enabled: boolean;
}

/** The form of a rule. */
export function formOf(rule: Rule): RuleForm {
  const { fences, active, near } = rule;
  return {
    id: rule.id ?? "",
    about: near ? "near" : "fences",
    set: rule.set ?? "",
    ...fencesOf(fences),
    objects: rule.objects ?? "",
    fleet: rule.fleet ?? "",
    detect: rule.detect ?? (near || rule.count ? [] : ["enter", "exit"]),
    dwellAfter: rule.dwell?.after ?? "",
    dwellEvery: rule.dwell?.every ?? "",
    insideEvery: rule.inside?.every ?? "",
    outsideEvery: rule.outside?.every ?? "",
    when: rule.when ?? "",
    direction: rule.direction ?? "",
    zone: active?.zone ?? "",
    week: formatWeek(active?.week),
    validFrom: active?.valid_from ?? "",
    validUntil: active?.valid_until ?? "",
    atLeast: text(rule.count?.at_least),
    nearObjects: near?.objects ?? "",
    nearFleet: near?.fleet ?? "",
    metres: text(near?.metres),
    exitMetres: text(near?.exit_metres),
    enabled: rule.enabled ?? true,
  };
}

function text(number: number | undefined): string {
  return number === undefined ? "" : String(number);
}

function fencesOf(fences: unknown): Pick<RuleForm, "fences" | "fencesText"> {
  if (Array.isArray(fences)) return { fences: "ids", fencesText: fences.map(String).join("\n") };
  const where = (fences as { where?: Record<string, unknown> } | null | undefined)?.where;
  if (!where) return { fences: "all", fencesText: "" };
  const nameText = (name: string): string => (!isPlain(name) || /^"|=/.test(name) ? JSON.stringify(name) : name);
  const lines = Object.entries(where).map(([name, value]) => `${nameText(name)}=${typeof value === "string" && isPlain(value) && !readsAsJSON(value) ? value : JSON.stringify(value)}`);
  return { fences: "where", fencesText: lines.join("\n") };
}

/** A name in quotes before its = sign. */
const quoted = /^("(?:[^"\\]|\\.)*")\s*=/;

/** Whether a text is one line without spaces around it, and so is read as it is written. */
function isPlain(text: string): boolean {
  return text === text.trim() && !/[\r\n]/.test(text);
}

/** Whether a text is a number, true, false, null or a text in quotes, and so needs quotes to be the text that it is. */
function readsAsJSON(value: string): boolean {
  return /^(-?\d|true$|false$|null$|")/.test(value);
}

export function formatWeek(week: Schedule["week"] = {}): string {
  return Object.entries(week)
    .map(([days, windows]) => `${days} ${[windows].flat().join(", ")}`)
    .join("\n");
}

/** Reads windows as formatWeek writes them; an Error names the line. */
export function parseWeek(lines: string): Record<string, string[]> {
  const week: Record<string, string[]> = {};
  for (const [i, line] of lines.split("\n").entries()) {
    if (line.trim() === "") continue;
    const [days, ...rest] = line.trim().split(/\s+/);
    const windows = rest.join(" ").split(",").map((window) => window.trim()).filter(Boolean);
    if (windows.length === 0) throw new Error(`Hours, line ${i + 1}: write days and times, such as: mon-fri 07:00-09:00, 14:00-16:00`);
    week[days!] = [...(week[days!] ?? []), ...windows];
  }
  return week;
}

/** The rule of a form; members of the base that the form does not show stay. An Error tells what is wrong. */
export function ruleOf(form: RuleForm, base: Rule = {}): Rule {
  const near = form.about === "near";
  const count = near ? undefined : compact({ at_least: number("Objects at once", form.atLeast) });
  if (!near && form.detect.length === 0 && !count) throw new Error("Choose what the rule tells.");
  const tells = (kind: string): boolean => !near && form.detect.includes(kind);
  const rule = {
    ...base,
    id: form.id.trim(),
    set: near ? undefined : form.set,
    fences: near ? undefined : fencesFrom(form),
    objects: form.objects.trim(),
    fleet: form.fleet.trim(),
    detect: near ? undefined : detectFrom(form, base, count !== undefined),
    dwell: tells("dwell") ? compact({ after: form.dwellAfter.trim(), every: form.dwellEvery.trim() }) : undefined,
    inside: tells("inside") ? compact({ every: form.insideEvery.trim() }) : undefined,
    outside: tells("outside") ? compact({ every: form.outsideEvery.trim() }) : undefined,
    when: form.when.trim(),
    direction: tells("cross") ? form.direction : undefined,
    active: compact({ ...base.active, zone: form.zone.trim(), week: compact(parseWeek(form.week)), valid_from: form.validFrom.trim(), valid_until: form.validUntil.trim() }),
    count,
    near: near ? nearFrom(form) : undefined,
    enabled: form.enabled ? undefined : false,
  };
  return (compact(rule) ?? {}) as Rule;
}

/** The kinds to detect; undefined where that is the same. */
function detectFrom({ detect }: RuleForm, base: Rule, counts: boolean): string[] | undefined {
  const usual = detect.length === 2 && detect.includes("enter") && detect.includes("exit") && !counts && base.detect === undefined;
  return usual || detect.length === 0 ? undefined : [...detect];
}

function nearFrom(form: RuleForm): object {
  const metres = number("Metres", form.metres);
  if (metres === undefined) throw new Error("Metres: say how close objects have to be.");
  return compact({ objects: form.nearObjects.trim(), fleet: form.nearFleet.trim(), metres, exit_metres: number("Metres to part", form.exitMetres) }) ?? {};
}

function fencesFrom({ fences, fencesText }: RuleForm): unknown {
  const lines = fencesText.split("\n").map((line) => line.trim()).filter(Boolean);
  if (fences === "all") return undefined;
  if (fences === "ids") return lines;
  const where: Record<string, unknown> = {};
  for (const [i, line] of lines.entries()) {
    const name = quoted.exec(line)?.[1];
    const equals = line.indexOf("=", name?.length ?? 0);
    if (equals < 1) throw new Error(`Fences, line ${i + 1}: write a property and its value, such as: zone=school`);
    where[name === undefined ? line.slice(0, equals).trim() : String(valueOf(name))] = valueOf(line.slice(equals + 1).trim());
  }
  return { where };
}

function valueOf(written: string): unknown {
  if (!readsAsJSON(written)) return written;
  try {
    return JSON.parse(written);
  } catch {
    return written;
  }
}

function number(label: string, written: string): number | undefined {
  if (written.trim() === "") return undefined;
  const value = Number(written);
  if (!Number.isFinite(value)) throw new Error(`${label}: ${written} is not a number.`);
  return value;
}

/** The object without members that are absent or empty texts; undefined if none is left. */
function compact<T extends object>(object: T): T | undefined {
  const kept = Object.entries(object).filter(([, value]) => value !== undefined && value !== "");
  return kept.length === 0 ? undefined : (Object.fromEntries(kept) as T);
}

/** What a rule tells, in a line: "enter, exit", "dwell after 45m", "at least 3 objects", "within 50 m". */
export function tellsText(rule: Rule): string {
  if (rule.near) return `two objects within ${rule.near.metres ?? "?"} m`;
  const parts = (rule.detect ?? (rule.count ? [] : ["enter", "exit"])).map((kind) => (kind === "dwell" && rule.dwell?.after ? `dwell after ${rule.dwell.after}` : kind));
  if (rule.count) parts.push(`${rule.count.at_least ?? "?"} objects at once`);
  return parts.join(", ");
}

/** The fences of a rule, in a line. */
export function fencesText(rule: Rule): string {
  if (rule.near) return "";
  const { fences, fencesText: written } = fencesOf(rule.fences);
  return fences === "all" ? "all" : written.split("\n").join(", ");
}

/** The objects of a rule, in a line. */
export function objectsText({ objects = "", fleet = "" }: Rule): string {
  const which = objects === "" || objects === "*" ? "all" : objects;
  return fleet === "" ? which : `${which} of ${fleet}`;
}

/** Whether a rule has all the words, in its id or anywhere else. */
export function matches(rule: Rule, words: string): boolean {
  const all = JSON.stringify(rule).toLowerCase();
  return words.toLowerCase().split(/\s+/).every((word) => all.includes(word));
}
