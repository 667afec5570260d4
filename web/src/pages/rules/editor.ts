// The editor of a rule: a form of the usual fields, or all of it as JSON.

import { fetchSets } from "../../api";
import { fill, h } from "../../dom";
import { checkBox, field, form, group, select, textArea, textInput } from "../../frame/form";
import { detectable, formOf, ruleOf, type Rule, type RuleForm } from "../../model/rules";
import { parseJSON } from "../../model/setpage";

export interface EditorOptions {
  rule: Rule;
  /** The rule is new, and so has no id yet. */
  fresh?: boolean;
  save: (rule: Rule) => Promise<void>;
  submit: string;
}

export function createEditor({ rule, fresh = false, save, submit }: EditorOptions): HTMLElement {
  let base = rule;
  const content = h("div");
  const showForm = (): void => {
    const { fields, read } = createFields(formOf(base), fresh);
    current = () => ruleOf(read(), base);
    fill(content, form({ label: "Rule", fields, submit, send: () => save(current()) }));
  };
  const showJSON = (): void => {
    const text = textArea(JSON.stringify(base, null, 2), 18);
    current = () => parseJSON(text.value) as Rule;
    fill(content, form({ label: "Rule as JSON", fields: [field("Rule", text, "All members that the reference names.")], submit, send: () => save(current()) }));
  };
  let current = (): Rule => base;
  const problem = h("p", { class: "outcome", role: "alert", hidden: true });
  const tab = (label: string, show: () => void): HTMLButtonElement =>
    h("button", { type: "button", class: "tab", "aria-pressed": "false", onclick: (event: MouseEvent) => {
      problem.hidden = true;
      try {
        base = current();
      } catch (error) {
        fill(problem, error instanceof Error ? error.message : String(error));
        problem.hidden = false;
        return;
      }
      press(event.currentTarget as HTMLButtonElement);
      show();
    } }, label);
  const tabs = [tab("Form", showForm), tab("JSON", showJSON)];
  const press = (pressed: HTMLButtonElement): void => {
    for (const each of tabs) each.ariaPressed = String(each === pressed);
  };
  press(tabs[0]!);
  showForm();
  return h("section", { class: "part" }, h("div", { class: "tabs-row", role: "group", "aria-label": "Edit as" }, ...tabs), problem, content);
}

interface Fields {
  fields: HTMLElement[];
  read: () => RuleForm;
}

function createFields(now: RuleForm, fresh: boolean): Fields {
  const id = textInput(now.id, { maxlength: 128, readonly: !fresh });
  const about = select([["fences", "Objects and fences"], ["near", "Objects near each other"]], now.about);
  const enabled = checkBox("Switched on", now.enabled);
  const objects = textInput(now.objects, { placeholder: "all" });
  const fleet = textInput(now.fleet, { placeholder: "all" });
  const when = textInput(now.when, { placeholder: "always" });
  const [where, near, hours] = [fenceFields(now), nearFields(now), hourFields(now)];
  const [whereBox, nearBox] = [h("div", { class: "form" }, ...where.fields), h("div", { class: "form" }, ...near.fields)];
  const shape = (): void => {
    whereBox.hidden = about.value === "near";
    nearBox.hidden = about.value !== "near";
  };
  about.addEventListener("change", shape);
  shape();
  const fields = [
    ...(fresh ? [field("Id", id, "Letters, digits and . _ -. Events name it.")] : []),
    field("About", about),
    whereBox,
    nearBox,
    h("div", { class: "fields-2" }, field("Objects", objects, "Ids, as bus-*; * is any text."), field("Fleet", fleet)),
    field("Only when", when, "A condition, such as speed_kmh > fence.maxspeed"),
    ...hours.fields,
    enabled.element,
  ];
  const read = (): RuleForm => ({
    ...now,
    id: id.value,
    about: about.value as RuleForm["about"],
    objects: objects.value,
    fleet: fleet.value,
    when: when.value,
    enabled: enabled.input.checked,
    ...where.read(),
    ...near.read(),
    ...hours.read(),
  });
  return { fields, read };
}

interface Some {
  fields: HTMLElement[];
  read: () => Partial<RuleForm>;
}

function fenceFields(now: RuleForm): Some {
  const set = textInput(now.set, { list: "rule-sets" });
  const sets = h("datalist", { id: "rule-sets" });
  void fetchSets().then((all) => sets.append(...all.map(({ name }) => h("option", { value: name })))).catch(() => undefined);
  const fences = select([["all", "All fences of the set"], ["ids", "Fences with these ids"], ["where", "Fences with these properties"]], now.fences);
  const list = textArea(now.fencesText, 3);
  const listField = field("Which", list, "One a line: an id, or a property such as zone=school.");
  const kinds = detectable.map((kind) => checkBox(kind, now.detect.includes(kind), kind));
  const after = textInput(now.dwellAfter, { placeholder: "30m" });
  const every = textInput(now.dwellEvery, { placeholder: "once" });
  const insideEvery = textInput(now.insideEvery, { placeholder: "each position" });
  const outsideEvery = textInput(now.outsideEvery, { placeholder: "each position" });
  const direction = select([["", "both"], ["left", "left"], ["right", "right"]], now.direction);
  const atLeast = textInput(now.atLeast, { inputmode: "numeric", placeholder: "not counted" });
  const dwell = h("div", { class: "fields-2" }, field("Dwell after", after), field("And again every", every));
  const inside = field("Inside, at most every", insideEvery);
  const outside = field("Outside, at most every", outsideEvery);
  const side = field("Crossed to the", direction);
  const chosen = (): string[] => kinds.filter(({ input }) => input.checked).map(({ input }) => input.value);
  const shape = (): void => {
    const detect = chosen();
    listField.hidden = fences.value === "all";
    dwell.hidden = !detect.includes("dwell");
    inside.hidden = !detect.includes("inside");
    outside.hidden = !detect.includes("outside");
    side.hidden = !detect.includes("cross");
  };
  for (const each of [fences, ...kinds.map(({ input }) => input)]) each.addEventListener("change", shape);
  shape();
  return {
    fields: [
      h("div", { class: "fields-2" }, field("Set", set), field("Fences", fences)),
      listField,
      group("Tells", h("div", { class: "checks" }, ...kinds.map(({ element }) => element))),
      dwell, inside, outside, side,
      field("Objects at once in a fence, at least", atLeast, "Tells when so many are in one fence, and when they are fewer again."),
      sets,
    ],
    read: () => ({
      set: set.value.trim(), fences: fences.value as RuleForm["fences"], fencesText: list.value, detect: chosen(), dwellAfter: after.value, dwellEvery: every.value,
      insideEvery: insideEvery.value, outsideEvery: outsideEvery.value, direction: direction.value, atLeast: atLeast.value,
    }),
  };
}

function nearFields(now: RuleForm): Some {
  const metres = textInput(now.metres, { inputmode: "decimal" });
  const exit = textInput(now.exitMetres, { inputmode: "decimal", placeholder: "a quarter more" });
  const objects = textInput(now.nearObjects, { placeholder: "all" });
  const fleet = textInput(now.nearFleet, { placeholder: "all" });
  return {
    fields: [
      h("div", { class: "fields-2" }, field("Within metres", metres), field("They part beyond metres", exit)),
      h("div", { class: "fields-2" }, field("The other object", objects), field("Of the fleet", fleet)),
    ],
    read: () => ({ metres: metres.value, exitMetres: exit.value, nearObjects: objects.value, nearFleet: fleet.value }),
  };
}

function hourFields(now: RuleForm): Some {
  const zone = textInput(now.zone, { placeholder: "UTC" });
  const week = textArea(now.week, 2);
  week.placeholder = "mon-fri 07:00-09:00, 14:00-16:00";
  const [from, until] = [textInput(now.validFrom, { placeholder: "2026-03-01T00:00:00Z" }), textInput(now.validUntil, { placeholder: "2026-04-01T00:00:00Z" })];
  const given = [now.zone, now.week, now.validFrom, now.validUntil].some((each) => each !== "");
  const fields = h(
    "details",
    { class: "more", open: given },
    h("summary", {}, "Hours"),
    h("div", { class: "form" }, field("Hours", week, "Days and times, one line for each. Without any the rule is always active."), field("Time zone", zone), h("div", { class: "fields-2" }, field("From", from), field("Until", until))),
  );
  return { fields: [fields], read: () => ({ zone: zone.value, week: week.value, validFrom: from.value, validUntil: until.value }) };
}
