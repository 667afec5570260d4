// The entry of all pages but the map: builds the frame, and loads the code of the page that the path names.

import "./style/tokens.css";
import "./style/page.css";
import "./style/panels.css";
import "./style/feed.css";
import "./style/details.css";
import "./style/nav.css";
import "./style/frame.css";
import "./style/table.css";
import "./style/button.css";
import "./style/form.css";
import "./style/overview.css";
import { fill, h } from "./dom";
import { createFrame, type PageModule } from "./frame/frame";
import { pageAt } from "./nav/pages";
import { tickTimes } from "./ui/time";

const modules: Record<string, () => Promise<PageModule>> = {
  sets: () => import("./pages/sets/page"),
  rules: () => import("./pages/rules/page"),
  keys: () => import("./pages/keys/page"),
  webhooks: () => import("./pages/webhooks/page"),
  devices: () => import("./pages/devices/page"),
  bus: () => import("./pages/bus/page"),
  wire: () => import("./pages/wire/page"),
  cluster: () => import("./pages/cluster/page"),
  runs: () => import("./pages/runs/page"),
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
