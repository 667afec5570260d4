// The dry run: what a rule would have told of the last hours of an object.

import { fetchObjects } from "../../api";
import { fill, h } from "../../dom";
import { plural } from "../../format";
import { field, form, select, textInput } from "../../frame/form";
import type { Rule } from "../../model/rules";
import { clockTime } from "../../ui/time";
import { dryRun, type DryRunResult } from "./api";

/** So many events are listed. */
const mostEvents = 50;
const hourMs = 3_600_000;

export function createDryRun(rule: () => Rule): HTMLElement {
  const object = textInput("", { list: "dry-objects" });
  const fleet = textInput("", { placeholder: "default" });
  const hours = select([["1", "the last hour"], ["6", "the last 6 hours"], ["24", "the last day"]], "1");
  const objects = h("datalist", { id: "dry-objects" });
  object.addEventListener("focus", () => {
    void fetchObjects({ limit: 100, fleet: fleet.value.trim() }).then(({ objects: all }) => fill(objects, ...all.map(({ id }) => h("option", { value: id })))).catch(() => undefined);
  });
  const result = h("div", { class: "dry-result", role: "status" });
  const send = async (): Promise<void> => {
    if (object.value.trim() === "") throw new Error("Name an object.");
    const to = Date.now();
    const from = to - Number(hours.value) * hourMs;
    const past = { object: object.value.trim(), from: new Date(from).toISOString(), to: new Date(to).toISOString() };
    const found = await dryRun(rule(), fleet.value.trim() === "" ? past : { ...past, fleet: fleet.value.trim() });
    fill(result, ...outcome(found));
  };
  const fields = [h("div", { class: "fields-2" }, field("Object", object), field("Fleet", fleet)), field("Its past", hours), objects];
  return h(
    "section",
    { class: "part" },
    h("h3", {}, "Dry run"),
    h("p", { class: "hint" }, "Tells what the saved rule would have told of the past of an object. Nothing is changed."),
    form({ label: "Dry run", fields, submit: "Run", send }),
    result,
  );
}

function outcome({ positions, events, truncated }: DryRunResult): HTMLElement[] {
  const kind = (type: string): string => type.split(".").at(-1) ?? type;
  const counted = h("p", {}, h("strong", {}, plural(events.length, "event")), `${truncated === true ? " and more" : ""}, from ${plural(positions, "position")}.`);
  const rows = events.slice(0, mostEvents).map(({ type, time, data }) =>
    h("li", { "data-kind": kind(type) }, clockTime(time), h("strong", { class: "kind-word" }, kind(type)), h("span", {}, data.fence?.id ?? "–")),
  );
  const more = events.length - rows.length;
  return [counted, h("ul", { class: "dry-events" }, ...rows), ...(more > 0 ? [h("p", { class: "hint" }, `And ${plural(more, "more event")}.`)] : [])];
}
