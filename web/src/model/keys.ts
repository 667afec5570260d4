// What the page of the keys tells, and the fields of its form. Pure.

/** "all", or the names; of many the first ones and how many more. */
export function scopeText(names: readonly string[] | undefined): string {
  if (names === undefined || names.length === 0) return "all";
  const shown = names.slice(0, 3).join(", ");
  return names.length > 3 ? `${shown} and ${names.length - 3} more` : shown;
}

/** Names that are separated by commas or spaces, each once. */
export function splitNames(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter(Boolean))];
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
