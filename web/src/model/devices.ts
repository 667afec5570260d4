// Settings of apps of phones, QR codes, and the states of doors. Pure.

export const apps = [
  ["traccar", "Traccar Client"],
  ["owntracks", "OwnTracks"],
  ["osmand", "OsmAnd"],
] as const;

export type App = (typeof apps)[number][0];

/** What is entered in an app: the names of its settings and their values. */
export interface AppSetup {
  settings: readonly (readonly [name: string, value: string])[];
  hint: string;
  /** What the app can scan instead. */
  code?: string;
}

/** The settings of an app. Whoever sees the key may send positions, so an address with the key is a secret too. */
export function appSetup(app: App, origin: string, key: string, fleet = ""): AppSetup {
  const base = origin.replace(/\/$/, "");
  const door = `${base}/in/osmand/${encodeURIComponent(key)}`;
  switch (app) {
    case "traccar":
      return {
        settings: [["Server URL", door]],
        hint: "The device identifier is the id of the object.",
        code: `${door}?accuracy=high&distance=0&interval=10&buffer=true`,
      };
    case "owntracks":
      return {
        settings: [["URL", `${base}/in/owntracks${fleet === "" ? "" : `?fleet=${encodeURIComponent(fleet)}`}`], ["Password", key]],
        hint: "Mode HTTP. The id of the object is the user name, a slash and the device id.",
      };
    case "osmand":
      return {
        settings: [["Web address", `${door}?id=phone&lat={0}&lon={1}&timestamp={2}&hdop={3}&altitude={4}&speed={5}&bearing={6}&speed_unit=ms`]],
        hint: "Plugins, Trip recording, Online tracking. Put the id of the object in place of phone.",
      };
  }
}

/** Whether an address is one that only this machine has, so that no phone reaches it. */
export function isLocal(host: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[?::1\]?)$/.test(host);
}

/** The black modules of a QR code as the path of a drawing whose unit is a module, with a margin of 4. */
export function qrPath(rows: readonly string[]): { path: string; size: number } {
  const margin = 4;
  let path = "";
  rows.forEach((row, y) => {
    for (const run of row.matchAll(/1+/g)) path += `M${run.index + margin} ${y + margin}h${run[0].length}v1h-${run[0].length}z`;
  });
  return { path, size: rows.length + 2 * margin };
}

/** The state of a source in words; "" of what is no source. */
export function sourceText(source: { connected: boolean } | undefined): { word: string; colour: string } {
  if (!source) return { word: "", colour: "" };
  return source.connected ? { word: "connected", colour: "" } : { word: "not connected", colour: "refused" };
}
