// Exact: JSON whose numbers keep all of their digits. A number that a browser would round becomes an Exact, which is
// written as it was read.

/** Begins the text that stands for an Exact within JSON; no other text begins so. */
const mark = `${Math.random().toString(36).slice(2)}${Math.random().toString(36).slice(2)}:`;
const marked = new RegExp(`"${mark}([^"]*)"`, "g");
const textOrNumber = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

/** A number by its digits. */
export class Exact {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toJSON(): string {
    return mark + this.#text;
  }
}

/** As JSON.parse. */
export function parseExact(text: string): unknown {
  JSON.parse(text); // what is no JSON has no numbers
  const whole = text.replace(textOrNumber, (token) => (token.startsWith('"') || isKept(token) ? token : `"${mark}${token}"`));
  return JSON.parse(whole, (_, value: unknown) => (typeof value === "string" && value.startsWith(mark) ? new Exact(value.slice(mark.length)) : value));
}

/** As JSON.stringify. */
export function writeExact(value: unknown): string {
  return JSON.stringify(value).replace(marked, "$1");
}

/** Whether a browser keeps a number: as many digits as all numbers keep, or just these. */
function isKept(token: string): boolean {
  const value = Number(token);
  const digits = token.replace(/e.*/i, "").replace(/\D/g, "").replace(/^0+/, "");
  if (!Number.isFinite(value) || (value === 0 && digits !== "")) return false;
  return digits.length <= 15 || String(value) === token;
}
