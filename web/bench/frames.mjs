// Prints how long the page's frames take while 50,000 objects move: npm run frames [-- OBJECTS]. Chromium draws without a
// graphics card here, so these are figures for the page's own work and for comparison, not of what a viewer sees.

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { launch, openPage } from "../e2e/browser.mjs";
import { positions, post, squares, squareSet } from "../e2e/fleet.mjs";
import { startPlatform } from "../e2e/server.mjs";

const objects = Number(process.argv[2] ?? 50_000);
const seconds = 10;
const { west, south, step, columns, rows } = squares;
const middle = [west + (columns / 2) * step, south + (rows / 2) * step];

const directory = await mkdtemp(path.join(tmpdir(), "paddock-frames-"));
await writeFile(path.join(directory, "squares.geojson"), squareSet());
const server = await startPlatform(directory);
const browser = await launch();
try {
  await post(server.url, positions(objects, Date.now()));
  let on = true;
  const drive = (async () => {
    while (on) {
      const begun = Date.now();
      await post(server.url, positions(objects, begun));
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, 1000 - (Date.now() - begun))));
    }
  })();
  console.log(`${objects} objects, each reporting once a second`);
  for (const [what, zoom, pan] of [["whole city, standing", 10.6, 0], ["whole city, panned", 10.6, 30], ["some streets, panned", 14, 30]]) {
    const { page, close } = await openPage(browser, `${server.url}?at=${middle},${zoom}`);
    await page.waitForFunction(() => {
      const { map, objects: drawn } = window.paddock.state();
      return map?.complete && (map.crowd > 0 || drawn.length > 0);
    });
    console.log(await measure(page, what, pan));
    await close();
  }
  on = false;
  await drive;
  const status = await readFile(`/proc/${server.pid}/status`, "utf8").catch(() => "");
  console.log(`server: ${/VmRSS:\s*(.*)/.exec(status)?.[1] ?? "?"} resident`);
} finally {
  await browser.close();
  await server.stop();
  await rm(directory, { recursive: true });
}

/** Moves the map for some seconds, and returns what the frames and the tasks of the page's thread took. */
async function measure(page, what, pan) {
  await page.evaluate(() => {
    window.frames_ = [];
    window.tasks_ = [];
    let last = performance.now();
    const tick = (now) => {
      window.frames_.push(now - last);
      last = now;
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
    new PerformanceObserver((list) => window.tasks_.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: "longtask" });
  });
  const end = Date.now() + seconds * 1000;
  await page.mouse.move(700, 450);
  while (Date.now() < end) {
    if (pan === 0) await page.waitForTimeout(200);
    else {
      await page.mouse.down();
      for (const side of [1, -1]) for (let i = 0; i < 5; i++) await page.mouse.move(700 + (side > 0 ? i : 5 - i) * pan, 450);
      await page.mouse.up();
    }
  }
  const { frames, tasks, heap, map, drawn } = await page.evaluate(() => ({
    frames: window.frames_.sort((a, b) => a - b),
    tasks: window.tasks_.sort((a, b) => a - b),
    heap: performance.memory?.usedJSHeapSize ?? 0,
    map: window.paddock.state().map,
    drawn: window.paddock.state().objects.length,
  }));
  const at = (list, share) => Math.round(list[Math.min(list.length - 1, Math.floor(list.length * share))] ?? 0);
  return (
    `${what}: ${map.crowd > 0 ? `${map.crowd} objects in cells` : `${drawn} objects one by one`}; ` +
    `frames p50 ${at(frames, 0.5)} ms, p95 ${at(frames, 0.95)} ms, longest ${at(frames, 1)} ms; ` +
    `tasks above 50 ms: ${tasks.length}, longest ${at(tasks, 1)} ms; heap ${Math.round(heap / 2 ** 20)} MiB`
  );
}
