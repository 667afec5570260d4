// Chromium, its pages, and what the tests look at in them.

import assert from "node:assert/strict";
import { mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { chromium } from "playwright-core";
import { artifacts } from "./server.mjs";

const executablePath = process.env.PADDOCK_CHROMIUM ?? process.env.CHROMIUM ?? "/usr/bin/chromium";

/** The first drawing of the map on a busy machine without a graphics card. */
export const patience = 60_000;

/** The map is drawn without a graphics card, and the browser itself asks nothing of the network. */
const flags = [
  "--use-gl=angle",
  "--use-angle=swiftshader",
  "--enable-unsafe-swiftshader",
  "--no-sandbox",
  "--disable-quic",
  "--disable-gpu-compositing",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/**
 * Pixels of the screen for each pixel of the layout. A processor draws each of them, so the tests take few;
 * with 1 the pictures are worth a look.
 */
const sharpness = Number(process.env.PADDOCK_SHARPNESS ?? 0.5);

export const desk = { viewport: { width: 1440, height: 900 }, deviceScaleFactor: sharpness };
export const phone = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2 * sharpness, isMobile: true, hasTouch: true };

export function launch() {
  return chromium.launch({ executablePath, args: flags });
}

/** A page that remembers what it asked for and what went wrong in it; with `clock`, one whose clock the test can move. */
export async function openPage(browser, url, { clock = false, ...options } = desk) {
  const context = await browser.newContext({ colorScheme: "light", reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  if (clock) await page.clock.install();
  page.setDefaultTimeout(patience);
  const seen = { requests: [], errors: [] };
  page.on("request", (request) => seen.requests.push(request.url()));
  page.on("websocket", (socket) => seen.requests.push(socket.url()));
  page.on("pageerror", (error) => seen.errors.push(String(error.stack)));
  page.on("console", (message) => {
    if (message.type() === "error") seen.errors.push(message.text());
  });
  await page.goto(url);
  return { page, seen, close: () => context.close() };
}

/** Until the map shows every set, and objects with their names. */
export async function ready(page) {
  await page.waitForFunction(() => {
    const state = window.paddock?.state();
    return state?.map?.complete && state.sets.length > 0 && state.loadedSets.length === state.sets.length && state.objects.length > 0;
  });
}

export function state(page) {
  return page.evaluate(() => window.paddock.state());
}

export async function screenshot(page, name) {
  await mkdir(artifacts, { recursive: true });
  await page.screenshot({ path: path.join(artifacts, `dashboard-${name}.png`) });
}

/** The serious and critical findings of axe-core, one line each. */
export async function accessibilityFindings(page) {
  const source = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  // By the debugger's door: the page's policy rightly refuses a script tag.
  await page.evaluate(source);
  const violations = await page.evaluate(async () => (await window.axe.run(document, { resultTypes: ["violations"] })).violations);
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target.join(" ")}: ${node.failureSummary}`));
}

/** Pictures in light and dark, each without serious findings. `settled` waits until the page is drawn. */
export async function look(page, name, { schemes = ["light", "dark"], settled = () => undefined } = {}) {
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme });
    await settled();
    await screenshot(page, `${name}-${colorScheme}`);
    assert.deepEqual(await accessibilityFindings(page), [], `${name} ${colorScheme}`);
  }
}

/** Pictures in light, dark and phone width, each without serious findings, and none wider than the screen. */
export async function lookInAllWidths(page, name) {
  await look(page, `page-${name}`);
  await page.emulateMedia({ colorScheme: "light" });
  const size = page.viewportSize();
  await page.setViewportSize(phone.viewport);
  await screenshot(page, `page-${name}-phone`);
  assert.deepEqual(await accessibilityFindings(page), [], `${name} phone`);
  assert.equal(await tooWide(page), 0, `${name}: the page is wider than a phone`);
  await page.setViewportSize(size);
}

/** The pixels by which a page is wider than the screen. */
export const tooWide = (page) => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

/** The row of a table whose first cell is a name. */
export const rowOf = (page, name) => page.locator("tbody tr").filter({ has: page.getByRole("rowheader", { name, exact: true }) });
