// The form of a webhook.

import { h } from "../../dom";
import { checkBox, field, form, group, select, textArea, textInput } from "../../frame/form";
import { kindChoices } from "../../model/kinds";
import { formats, webhookOf, type WebhookForm } from "../../model/webhooks";
import type { Webhook } from "./api";

export interface EditorOptions {
  form: WebhookForm;
  base?: Webhook;
  /** It is new, and so has no id and no secret yet. */
  fresh?: boolean;
  /** Sign tells whether a new one gets a secret. */
  save: (webhook: Webhook, sign: boolean) => Promise<void>;
  cancel?: () => void;
}

export function createEditor({ form: now, base, fresh = false, save, cancel }: EditorOptions): HTMLElement {
  const id = textInput(now.id, { maxlength: 128 });
  const url = textInput(now.url, { inputmode: "url", placeholder: "https://example.org/hook" });
  const format = select(formats, now.format);
  const batch = textInput(now.maxBatch, { inputmode: "numeric", placeholder: "100" });
  const batchField = field("Events in a request, at most", batch);
  const sign = checkBox("Sign requests with a new secret, which is shown once", true);
  const kinds = kindChoices.flatMap((choice) => choice.kinds).map((kind) => checkBox(kind.replaceAll("_", " "), now.events.includes(kind), kind));
  const [sets, fences, fleets, rules] = [now.sets, now.fences, now.fleets, now.rules].map((names) => textArea(names, 2, { placeholder: "all" }));
  const objects = textInput(now.objects, { placeholder: "all" });
  const shape = (): void => {
    batchField.hidden = format.value !== "cloudevents-batch";
    sign.element.hidden = format.value === "slack";
  };
  format.addEventListener("change", shape);
  shape();
  const read = (): Webhook =>
    webhookOf(
      {
        id: id.value, url: url.value, format: format.value, sets: sets!.value, fences: fences!.value, fleets: fleets!.value, objects: objects.value, rules: rules!.value,
        events: kinds.filter(({ input }) => input.checked).map(({ input }) => input.value), maxBatch: batch.value,
      },
      base,
    );
  const fields = [
    fresh ? field("Id", id, "Letters, digits and . _ -.") : null,
    field("URL", url),
    field("Format", format),
    batchField,
    group("Only these events", h("div", { class: "checks" }, ...kinds.map(({ element }) => element)), h("p", { class: "hint" }, "None chosen: all.")),
    h("div", { class: "fields-2" }, field("Only these sets", sets!, "One a line."), field("Only these fences", fences!, "One a line.")),
    h("div", { class: "fields-2" }, field("Only these fleets", fleets!, "One a line."), field("Only these rules", rules!, "One a line.")),
    field("Only objects like", objects, "As bus-*."),
    fresh ? sign.element : null,
  ];
  return form({ label: "Webhook", fields, submit: fresh ? "Add the webhook" : "Save the webhook", send: () => save(read(), sign.input.checked && format.value !== "slack"), ...(cancel ? { cancel } : {}) });
}
