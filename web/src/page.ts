// The entry of all pages but the map: builds the frame, and loads the code of the page that the path names.

import "./style/tokens.css";
import "./style/page.css";
import "./style/panels.css";
import "./style/feed.css";
import "./style/details.css";
import "./style/nav.css";
import "./style/frame.css";
import "./style/table.css";
import "./style/tunnel.css";
import { fill, h } from "./dom";
import { createFrame, type PageModule } from "./frame/frame";
import { pageAt } from "./nav/pages";
import { tickTimes } from "./ui/time";

const modules: Record<string, () => Promise<PageModule>> = {
  tunnel: () => import("./tunnel/page"),
};

async function start(): Promise<void> {
  // A server of tunnels alone has their page at its root.
  const entry = pageAt(location.pathname);
  const frame = createFrame(entry, entry?.label ?? "Tunnel");
  window.setInterval(tickTimes, 1000);
  try {
    const page = await modules[entry?.name ?? "tunnel"]!();
    page.open(frame);
  } catch (error) {
    console.error(error);
    fill(frame.banner, h("div", { class: "banner card bad", role: "alert" }, "The page's code could not be loaded: reload it."));
  }
}

void start();
