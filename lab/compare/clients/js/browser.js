// nats.js in a real browser: the scenarios of page.js, in a page that is bundled
// as anybody would do it.

import { build } from "esbuild";
import http from "node:http";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { say, world } from "./program.js";

export async function browser() {
  const bundle = await build({
    entryPoints: [fileURLToPath(new URL("page.js", import.meta.url))],
    bundle: true,
    format: "iife",
    write: false,
    logLevel: "error",
  });
  const site = http.createServer((request, response) => {
    const script = request.url === "/page.js";
    response.setHeader("Content-Type", script ? "text/javascript" : "text/html");
    response.end(script ? bundle.outputFiles[0].text : "<!doctype html><script src=/page.js></script>");
  });
  await new Promise((resolve) => site.listen(0, "127.0.0.1", resolve));
  const chrome = await chromium.launch({ executablePath: process.env.PADDOCK_CHROMIUM, args: ["--no-sandbox"] });
  try {
    const page = await chrome.newPage();
    page.on("pageerror", (error) => say(`page: ${error.message}`));
    await page.exposeFunction("say", say);
    await page.goto(`http://127.0.0.1:${site.address().port}/`);
    for (const name of ["pubsub", "queue", "request", "headers", "autounsub", "service", "info", "drain"]) {
      say(`${name}:`);
      await page.evaluate(([name, url]) => globalThis.play(name, url), [name, world.url]);
    }
  } finally {
    await chrome.close();
    site.close();
  }
}
