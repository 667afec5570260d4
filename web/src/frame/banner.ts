// The banner: says at once that the server is away, since when, and what happens next; or that the key of this browser
// may not see the page; or that the session has ended.

import { fill, h, type Child } from "../dom";
import { formatClock, formatDuration } from "../format";
import type { Link, Poll } from "../live/poll";

/** How long the good news stays. */
const goodNewsMs = 6_000;

/** The banner of a poll. None is its text when the server has no such thing. */
export function createBanner<T>(poll: Poll<T>, page: HTMLElement, none: () => Child[]): HTMLElement {
  const text = h("span", {});
  const wait = h("span", { "aria-hidden": "true" });
  const retry = h("button", { type: "button", onclick: () => poll.now() }, "Try now");
  const reload = h("button", { type: "button", hidden: true, onclick: () => location.reload() }, "Reload");
  const element = h("div", { class: "banner card", role: "alert", hidden: true }, text, retry, reload);
  let lostAt = 0;
  let lostWhy = "";
  let picture = "";
  let hide: number | undefined;

  const count = (): void => {
    const link = poll.link.value;
    if (link.state !== "lost") return;
    const left = Math.max(0, link.retryAt - Date.now());
    wait.textContent = left < 500 ? "Trying now…" : `Next try in ${Math.ceil(left / 1000)} s.`;
  };
  window.setInterval(count, 500);

  const show = (link: Link, before: Link): void => {
    page.classList.toggle("stale", link.state === "lost" || link.state === "ended");
    page.classList.toggle("without", link.state === "none" || link.state === "denied");
    if (link.state === "none" || link.state === "denied") {
      const denied = [h("strong", {}, "This key may not see this page."), ` The server says: ${link.state === "denied" ? link.why : ""}.`];
      fill(text, ...(link.state === "none" ? none() : denied));
      element.className = "banner card";
      retry.hidden = true;
      element.hidden = false;
      return;
    }
    reload.hidden = link.state !== "ended";
    if (before.state === "live" && (link.state === "lost" || link.state === "ended")) picture = ` This is the picture of ${formatClock(link.since)}.`;
    if (link.state === "ended") {
      clearTimeout(hide);
      fill(text, h("strong", {}, "The session has ended."), picture, " Reload the page, and give the key again.");
      element.className = "banner card bad";
      retry.hidden = true;
      element.hidden = false;
    } else if (link.state === "lost") {
      clearTimeout(hide);
      if (lostAt !== link.since || lostWhy !== link.why) {
        [lostAt, lostWhy] = [link.since, link.why];
        fill(text, h("strong", {}, link.why === "" ? "The server is away." : `The server says: ${link.why}.`), picture, " ", wait);
        element.className = "banner card bad";
        retry.hidden = false;
        element.hidden = false;
      }
      count();
    } else if (link.state === "live" && lostAt > 0) {
      fill(text, h("strong", {}, "Back"), ` after ${formatDuration(Date.now() - lostAt)}.`);
      lostAt = 0;
      element.className = "banner card good";
      retry.hidden = true;
      hide = window.setTimeout(() => (element.hidden = true), goodNewsMs);
    }
  };
  poll.link.bind(show);
  return element;
}
