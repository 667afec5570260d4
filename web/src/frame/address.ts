// The state of a page in its address, such as ?rule=ID: each choice is a step in the browser's history.

import { Signal } from "../signal";

export type Parameters = Readonly<Record<string, string>>;

/** Reads a query. The first value of a name counts. */
export function parseQuery(query: string): Parameters {
  const found: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(query)) found[name] ??= value;
  return found;
}

/** Writes a query, "" for none. Empty values are left out. */
export function formatQuery(parameters: Parameters): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== "");
  return given.length === 0 ? "" : `?${given.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&")}`;
}

export class Address {
  readonly parameters: Signal<Parameters>;

  constructor() {
    this.parameters = new Signal(parseQuery(location.search));
    window.addEventListener("popstate", () => this.parameters.set(parseQuery(location.search)));
  }

  get(name: string): string {
    return this.parameters.value[name] ?? "";
  }

  /** The address with these parameters alone. */
  link(parameters: Parameters): string {
    return `${location.pathname.split("/").at(-1) ?? ""}${formatQuery(parameters)}`;
  }

  /** Goes to the address with the changes; with replace it is no step of the history. */
  go(change: Parameters, replace = false): void {
    const next = { ...this.parameters.value, ...change };
    const query = formatQuery(next);
    if (query === formatQuery(this.parameters.value)) return;
    if (replace) history.replaceState(null, "", location.pathname + query);
    else history.pushState(null, "", location.pathname + query);
    this.parameters.set(parseQuery(query));
  }
}
