// The pages of the dashboard, in the order of the navigation. Their names are their paths; internal/platform/ui serves
// them.

import type { IconName } from "../dom";

export interface PageEntry {
  /** Its path; "" is the map. */
  name: string;
  label: string;
  icon: IconName;
  /** It begins a group. */
  first?: boolean;
}

export const pages: readonly PageEntry[] = [
  { name: "", label: "Map", icon: "map" },
  { name: "sets", label: "Sets", icon: "layers", first: true },
  { name: "rules", label: "Rules", icon: "rule" },
  { name: "webhooks", label: "Webhooks", icon: "hook" },
  { name: "keys", label: "Keys", icon: "key" },
  { name: "devices", label: "Devices", icon: "phone" },
  { name: "tunnel", label: "Tunnel", icon: "tunnel", first: true },
];

/** The entry of the page at a path. Null: the path names none, as that of a server of tunnels alone. */
export function pageAt(pathname: string): PageEntry | null {
  const last = pathname.split("/").at(-1) ?? "";
  return pages.find(({ name }) => name !== "" && name === last) ?? null;
}
