// What the page of the webhooks tells, and the fields of its form. Pure.

import { linesOf, namesOf } from "./keys";
import type { Webhook, WebhookState } from "../pages/webhooks/api";

export const formats = [
  ["cloudevents", "CloudEvents, one a request"],
  ["cloudevents-batch", "CloudEvents, many a request"],
  ["tile38", "notifications of Tile38"],
  ["slack", "lines for Slack"],
] as const;

/** A state in a word, which its colour underlines: "", "away" or "refused". */
export function stateWord({ state, failures }: Pick<WebhookState, "state" | "failures">): { word: string; colour: string } {
  if (state === "disabled") return { word: "disabled", colour: "refused" };
  if (state === "waiting" || failures > 0) return { word: "failing", colour: "away" };
  return { word: "delivering", colour: "" };
}

/** What an attempt came to: "delivered, 200", "failed, 500", "failed". */
export function outcomeText({ outcome, status }: { outcome: string; status?: number }): string {
  return status === undefined || status === 0 ? outcome : `${outcome}, ${status}`;
}

/** The host of a URL, or what there is of it. */
export function hostOf(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return url;
  }
}

export interface WebhookForm {
  id: string;
  url: string;
  format: string;
  /** Names, one a line; so are fences, fleets and rules. */
  sets: string;
  fences: string;
  events: readonly string[];
  fleets: string;
  objects: string;
  rules: string;
  maxBatch: string;
}

export function webhookForm(webhook: Webhook): WebhookForm {
  return {
    id: webhook.id ?? "",
    url: webhook.url,
    format: webhook.format ?? "cloudevents",
    sets: linesOf(webhook.sets),
    fences: linesOf(webhook.fences),
    events: webhook.events ?? [],
    fleets: linesOf(webhook.fleets),
    objects: webhook.objects ?? "",
    rules: linesOf(webhook.rules),
    maxBatch: webhook.max_batch === undefined || webhook.max_batch === 0 ? "" : String(webhook.max_batch),
  };
}

/** The webhook of a form. What the form does not show stays: secrets, headers, and whether it is enabled. */
export function webhookOf(form: WebhookForm, base: Webhook = { url: "" }): Webhook {
  if (form.url.trim() === "") throw new Error("The webhook needs a URL.");
  const batch = form.maxBatch.trim() === "" ? undefined : Number(form.maxBatch);
  if (batch !== undefined && !Number.isInteger(batch)) throw new Error(`Events in a request: ${form.maxBatch} is not a whole number.`);
  const names = (lines: string, before: string[] | undefined): string[] | undefined => (lines === linesOf(before) ? before : namesOf(lines));
  const all = {
    ...base,
    id: form.id.trim(),
    url: form.url.trim(),
    format: form.format,
    sets: names(form.sets, base.sets),
    fences: names(form.fences, base.fences),
    events: [...form.events],
    fleets: names(form.fleets, base.fleets),
    objects: form.objects.trim(),
    rules: names(form.rules, base.rules),
    max_batch: form.format === "cloudevents-batch" ? batch : undefined,
  };
  const kept = Object.entries(all).filter(([, value]) => value !== undefined && value !== "" && !(Array.isArray(value) && value.length === 0));
  return Object.fromEntries(kept) as unknown as Webhook;
}

/** What a webhook selects, in a line. */
export function selectsText({ events, sets, fences, fleets, objects, rules }: Webhook): string {
  const parts = [events?.join(", ") ?? "all events"];
  const add = (word: string, names: readonly string[] | undefined): void => {
    if (names && names.length > 0) parts.push(`${word} ${names.join(", ")}`);
  };
  add("of", sets);
  add("fences", fences);
  add("fleets", fleets);
  add("rules", rules);
  if (objects !== undefined && objects !== "") parts.push(`objects ${objects}`);
  return parts.join("; ");
}

/** A new secret for signatures, as Standard Webhooks writes it. */
export function newSecret(bytes = crypto.getRandomValues(new Uint8Array(32))): string {
  return `whsec_${btoa(String.fromCharCode(...bytes))}`;
}
