// A new phone: makes a key that may send positions of one fleet, and shows what to enter in the app, once.

import { fill, h } from "../../dom";
import { announce } from "../../frame/dialog";
import { field, form, select, textInput } from "../../frame/form";
import { explain } from "../../frame/request";
import { appSetup, apps, isLocal, qrPath, type App } from "../../model/devices";
import { copyButton } from "../../ui/parts";
import { addKey } from "../keys/api";
import { makeQR } from "./api";

export function createPhone(): HTMLElement {
  const name = textInput("", { maxlength: 64, placeholder: "phone-of-anna" });
  const fleet = textInput("", { placeholder: "all" });
  const app = select(apps, "traccar");
  const origin = textInput(new URL(".", document.baseURI).href.replace(/\/$/, ""), { inputmode: "url" });
  const local = h("p", { class: "warning" }, "Only this machine has this address: phones cannot reach it. Start the server with --public, or open this page by an address that they reach.");
  const judge = (): void => {
    local.hidden = !URL.canParse(origin.value) || !isLocal(new URL(origin.value).hostname);
  };
  origin.addEventListener("input", judge);
  judge();
  const box = h("section", { class: "part" });
  const send = async (): Promise<void> => {
    if (name.value.trim() === "") throw new Error("The key of the phone needs a name.");
    if (!URL.canParse(origin.value)) throw new Error("The address of the server is not a URL.");
    const fleets = fleet.value.trim() === "" ? [] : [fleet.value.trim()];
    const key = await addKey({ name: name.value.trim(), verbs: ["positions:write"], fleets });
    announce(`The key ${key.name} is added.`);
    const shown = createSetup(app.value as App, origin.value, key.secret ?? "", fleets[0] ?? "");
    fill(box, h("p", {}, "The key ", h("strong", {}, key.name), " is added. What follows is shown this once: any person with it can send positions."), shown);
    box.querySelector<HTMLElement>("button")?.focus();
  };
  const fields = [
    field("Name of the key", name, "One for each phone: a lost one is then revoked alone."),
    field("Only this fleet", fleet),
    field("App", app),
    field("Address of the server", origin),
    local,
  ];
  box.append(form({ label: "New phone", fields, submit: "Make the key", send }));
  return box;
}

/**
 * The settings of the app, and the code where it can scan one, which comes a little later. The values are fields, so that
 * no text has the key.
 */
function createSetup(app: App, origin: string, secret: string, fleet: string): HTMLElement {
  const setup = appSetup(app, origin, secret, fleet);
  const lines = setup.settings.map(([label, value]) => {
    const input = h("input", { type: "text", readonly: true, class: "secret", "aria-label": label, spellcheck: "false" });
    input.value = value;
    return h("div", { class: "field" }, h("span", { class: "setting" }, label), h("div", { class: "secret-line" }, input, copyButton(`Copy: ${label}`, () => input.value)));
  });
  const code = h("div", { hidden: true });
  if (setup.code !== undefined) void showCode(code, setup.code);
  return h("div", { class: "secret-panel" }, ...lines, h("p", { class: "hint" }, setup.hint), code);
}

/** Puts the code in its place. Without it the settings have to be typed. */
async function showCode(place: HTMLElement, text: string): Promise<void> {
  try {
    place.replaceWith(drawCode(await makeQR(text)));
  } catch (error) {
    place.replaceWith(h("p", { class: "warning" }, `There is no code to scan. ${explain(error)}`));
  }
}

/** A QR code, black on white whatever the colours of the page are. */
function drawCode(rows: readonly string[]): SVGSVGElement {
  const namespace = "http://www.w3.org/2000/svg";
  const { path, size } = qrPath(rows);
  const svg = document.createElementNS(namespace, "svg");
  svg.setAttribute("viewBox", `0 0 ${size} ${size}`);
  svg.setAttribute("class", "qr");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", "QR code for the settings of the app");
  svg.setAttribute("shape-rendering", "crispEdges");
  const drawing = document.createElementNS(namespace, "path");
  drawing.setAttribute("d", path);
  svg.append(drawing);
  return svg;
}
