import { expect, it, vi } from "vitest";
import type { MapActions } from "../src/app";
import { Signal } from "../src/signal";

vi.stubGlobal("document", { baseURI: "http://localhost/" });
const { mapOf } = await import("../src/draw/start");

it("waits for the map, unless the browser cannot show one", async () => {
  const page = () => ({ map: new Signal<MapActions | null>(null), mapFailed: new Signal(false) });
  const [good, bad] = [page(), page()];
  const map = {} as MapActions;
  const [there, refused] = [mapOf(good), expect(mapOf(bad)).rejects.toThrow("this browser cannot show")];
  good.map.set(map);
  bad.mapFailed.set(true);
  expect(await there).toBe(map);
  expect(await mapOf(good)).toBe(map);
  await refused;
  await expect(mapOf(bad)).rejects.toThrow("this browser cannot show");
});
