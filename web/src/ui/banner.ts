// The banner: says at once that the connection is lost, since when, and what happens next; after it is back, what was
// missed; and that the session has ended.

import type { App } from "../app";
import { fill, h } from "../dom";
import { formatClock, formatDuration, plural } from "../format";
import type { Link } from "../live/connection";

/** How long the good news stays. */
const goodNewsMs = 6_000;

export function createBanner(app: App, page: HTMLElement): HTMLElement {
  const text = h("span", {});
  const retry = h("button", { type: "button", onclick: () => app.connection.open() }, "Try now");
  const reload = h("button", { type: "button", hidden: true, onclick: () => location.reload() }, "Reload");
  const element = h("div", { class: "banner card", role: "alert", hidden: true }, text, retry, reload);
  let lostAt = 0;
  let missed = 0;
  let uncounted = "";
  let hide: number | undefined;

  const wait = h("span", { "aria-hidden": "true" });
  const count = (): void => {
    const link = app.connection.link.value;
    if (link.state !== "lost") return;
    const left = Math.max(0, link.retryAt - Date.now());
    wait.textContent = left < 500 ? "Trying now…" : `Next try in ${Math.ceil(left / 1000)} s.`;
  };
  window.setInterval(count, 500);

  const show = (link: Link): void => {
    page.classList.toggle("offline", link.state === "lost" || link.state === "ended");
    reload.hidden = link.state !== "ended";
    if (link.state === "ended") {
      clearTimeout(hide);
      const picture = ` This is the picture of ${formatClock(link.since)}. Reload the page, and give the key again.`;
      fill(text, h("strong", {}, "The session has ended."), picture);
      element.className = "banner card bad";
      retry.hidden = true;
      element.hidden = false;
    } else if (link.state === "lost") {
      clearTimeout(hide);
      if (lostAt === link.since) return count();
      lostAt = link.since;
      missed = 0;
      uncounted = "";
      fill(text, h("strong", {}, "Connection lost."), ` This is the picture of ${formatClock(link.since)}. `, wait);
      count();
      element.className = "banner card bad";
      retry.hidden = false;
      element.hidden = false;
    } else if (link.state === "live" && lostAt > 0) {
      const away = formatDuration(Date.now() - lostAt);
      lostAt = 0;
      // The gap record, if there is one, comes right after the greeting.
      hide = window.setTimeout(() => {
        const known = missed > 0 ? `${plural(missed, "event")} missed.` : "No event was missed.";
        const report = uncounted === "" ? known : `Events may have been missed: ${uncounted}.`;
        fill(text, h("strong", {}, "Back"), ` after ${away}. ${report}`);
        element.className = missed > 0 || uncounted !== "" ? "banner card" : "banner card good";
        retry.hidden = true;
        hide = window.setTimeout(() => (element.hidden = true), goodNewsMs);
      }, 600);
    }
  };
  app.gap.watch((gap) => {
    if (gap?.count === null) uncounted = gap.reason;
    else missed += gap?.count ?? 0;
  });
  app.connection.link.bind(show);
  return element;
}
