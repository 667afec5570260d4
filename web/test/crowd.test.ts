import { describe, expect, it, vi } from "vitest";
import { cellLevel, discs } from "../src/map/crowd";
import { Fleets } from "../src/model/fleets";
import { Trails } from "../src/model/trails";
import { event } from "./events";

vi.stubGlobal("document", { baseURI: "http://127.0.0.1:1/" }); // nothing answers there
const { pathTo } = await import("../src/map/path");

describe("discs", () => {
  const cells = { count: 3, lon: Float64Array.of(0, 0, 90), lat: Float64Array.of(0, 0, 0), objects: Uint32Array.of(100, 40_000, 1), silent: Uint32Array.of(0, 5, 0) };
  const camera = { width: 400, height: 400, zoom: 0, scale: 512, offsetX: 0, offsetY: 0 };

  it("are as large as what they hold, the largest below, and only where the screen is", () => {
    const all = discs(cells, { ...camera, width: 300 });
    expect(all.map(({ objects }) => objects)).toEqual([40_000, 100]);
    expect(all[0]!.radius).toBeGreaterThan(3 * all[1]!.radius);
    expect(all[0]).toMatchObject({ x: 256, y: 256, silent: 5 });
  });
});

it("asks for cells of the same size on the screen at every zoom", () => {
  expect([0, 3.4, 3.6, 12, 30].map(cellLevel)).toEqual([3, 6, 7, 15, 28]);
});

describe("Fleets", () => {
  it("lists names in order, and gives each a colour that it keeps", () => {
    const fleets = new Fleets();
    fleets.learnNames({ type: "names", names: [[1, "vans", "a"], [2, "buses", "b"], [3, "vans", "c"]] });
    fleets.learnEvents([event()]);
    expect(fleets.names.value).toEqual(["buses", "default", "vans"]);
    expect(["buses", "vans", "default", "other"].map((name) => fleets.colour(name))).toEqual([0, 1, 2, 0]);
  });

  it("is bounded", () => {
    const fleets = new Fleets();
    fleets.learnNames({ type: "names", names: Array.from({ length: 5_000 }, (_, i) => [i, `f${i}`, "a"]) });
    expect(fleets.names.value.length).toBe(200);
  });
});

describe("pathTo", () => {
  const mark = { lon: 1, lat: 2, t: 100_000, object: { fleet: "f", id: "v" }, before: [0, 1] as const };

  it("takes the trail that was seen if the server has no history, else the position before", async () => {
    const trails = new Trails();
    expect(await pathTo(mark, trails, false)).toEqual([{ lon: 0, lat: 1 }, { lon: 1, lat: 2 }]);
    for (const t of [20_000, 60_000, 90_000, 110_000]) trails.add("f\nv", t, 0, t);
    expect((await pathTo(mark, trails, false)).map(({ lon }) => lon)).toEqual([60_000, 90_000, 1]);
    expect(await pathTo({ ...mark, object: null }, trails, false)).toEqual([]);
  });
});
