// The pages of the dashboard, in the order of the navigation. Their names are their paths; internal/platform/ui serves
// them.

import type { IconName } from "../dom";

export interface PageEntry {
  /** Its path; "" is the map. */
  name: string;
  label: string;
  icon: IconName;
  /** What it shows, for the bar where that has no figures. */
  about?: string;
  /** It begins a group. */
  first?: boolean;
  /** Not every server has it: its documents name those that are there. */
  optional?: boolean;
}

export const pages: readonly PageEntry[] = [
  { name: "", label: "Map", icon: "map" },
  { name: "sets", label: "Sets", icon: "layers", about: "Fences by set, the files that they come from, and what is wrong in them", first: true },
  { name: "rules", label: "Rules", icon: "rule", about: "What is told of which objects and fences" },
  { name: "webhooks", label: "Webhooks", icon: "hook", about: "Where events are sent, and whether they arrive" },
  { name: "keys", label: "Keys", icon: "key", about: "What each key may do, and what was changed with it" },
  { name: "devices", label: "Devices", icon: "phone", about: "What came through each door, and what was turned away" },
  { name: "bus", label: "Bus", icon: "bus", first: true },
  { name: "wire", label: "Wire", icon: "wire" },
  { name: "tunnel", label: "Tunnel", icon: "tunnel" },
  { name: "cluster", label: "Cluster", icon: "cluster" },
  { name: "runs", label: "Runs", icon: "runs", about: "Loads of paddock bench, with their rates, times and reports", optional: true },
  { name: "docs/", label: "Documents", icon: "list", first: true },
];

/** The pages that this server has: the optional ones are named by its documents, in data-pages. */
export function presentPages(named: string | undefined): PageEntry[] {
  const there = (named ?? "").split(" ");
  return pages.filter(({ name, optional }) => !optional || there.includes(name));
}

/** The entry of the page at a path. Null: the path names none, as that of a server of tunnels alone. */
export function pageAt(pathname: string): PageEntry | null {
  const last = pathname.split("/").at(-1) ?? "";
  return pages.find(({ name }) => name !== "" && name === last) ?? null;
}
