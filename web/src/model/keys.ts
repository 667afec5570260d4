// What the page of the keys tells, and the fields of its form. Pure.

import type { Key, KeyChange } from "../pages/keys/api";

/** "all", or the names; of many the first ones and how many more. */
export function scopeText(names: readonly string[] | undefined): string {
  if (names === undefined || names.length === 0) return "all";
  const shown = names.slice(0, 3).join(", ");
  return names.length > 3 ? `${shown} and ${names.length - 3} more` : shown;
}

/** Names, one a line: they may have spaces and commas. */
export function linesOf(names: readonly string[] | undefined): string {
  return names?.join("\n") ?? "";
}

/** The names of lines, each once. */
export function namesOf(lines: string): string[] {
  return [...new Set(lines.split("\n").map((line) => line.trim()).filter(Boolean))];
}

/** The fields of the form of a key. */
export interface KeyForm {
  verbs: readonly string[];
  /** Names, one a line. */
  fleets: string;
  sets: string;
  /** A day, "" for never. */
  expires: string;
}

export function keyForm(key?: Key): KeyForm {
  return { verbs: key?.verbs ?? [], fleets: linesOf(key?.fleets), sets: linesOf(key?.sets), expires: dayOf(key?.expires) };
}

/** What a form changes of a key. A field that stays is not sent: a day says less than the instant at which a key ends. */
export function keyChange(form: KeyForm, key?: Key): KeyChange {
  const before = keyForm(key);
  const change: KeyChange = { verbs: [...form.verbs] };
  if (form.fleets !== before.fleets) change.fleets = namesOf(form.fleets);
  if (form.sets !== before.sets) change.sets = namesOf(form.sets);
  if (form.expires !== before.expires) change.expires = expiryOf(form.expires);
  return change;
}

/** The end of a day of the viewer as an instant; "" is never. */
export function expiryOf(day: string): string {
  if (day === "") return "";
  const end = new Date(`${day}T23:59:59`);
  if (Number.isNaN(end.getTime())) throw new Error("Expires: this is not a day.");
  return end.toISOString().replace(/\.\d+Z$/, "Z");
}

/** The day of an instant in the viewer's zone, as a date field has it. */
export function dayOf(instant: string | undefined): string {
  const date = new Date(instant ?? "");
  if (Number.isNaN(date.getTime())) return "";
  const two = (n: number): string => String(n).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** The state of a key: "expired", "of the file", or "". */
export function keyState({ expired, file }: { expired?: boolean; file?: boolean }): string {
  if (expired === true) return "expired";
  return file === true ? "of the file" : "";
}
