import { describe, expect, it } from "vitest";
import type { FeatureCollection } from "geojson";
import type { Properties, SetDocument } from "../src/api";
import { buildSet, drawingOrder, isLarge, labeller, nameAlone, outcome, searchFences, setName, union } from "../src/model/sets";

function square(id: string, x: number, y: number, size: number, properties: Properties = null): SetDocument["features"][number] {
  const ring = [[x, y], [x + size, y], [x + size, y + size], [x, y + size], [x, y]];
  return { type: "Feature", id, geometry: { type: "Polygon", coordinates: [ring] }, properties };
}

const doc = (...features: SetDocument["features"]): SetDocument => ({ type: "FeatureCollection", features });
const info = (name: string) => ({ name, generation: 1, fences: 0, parts: 0, edges: 0, kind: "rtree", bbox: null, findings: 0 });

describe("labeller", () => {
  it("takes the key where nothing names a fence", () => {
    expect(labeller(doc(square("7", 0, 0, 1, { area: 3, code: "x" })))("7", { area: 3 })).toBe("7");
  });

  it("takes the property that tells most fences apart", () => {
    const d = doc(
      square("1", 0, 0, 1, { CityName: "A", DistrictName: "North" }),
      square("2", 1, 0, 1, { CityName: "A", DistrictName: "South" }),
    );
    expect(labeller(d)("1", d.features[0]!.properties)).toBe("North");
  });

  it("adds the key where a name is not unique", () => {
    const d = doc(square("1", 0, 0, 1, { name: "Park" }), square("2", 1, 0, 1, { name: "Park" }), square("3", 2, 0, 1, { name: "Square" }));
    expect(labeller(d)("2", d.features[1]!.properties)).toBe("Park · 2");
  });

  it("ignores a name that all share, and blank ones", () => {
    const d = doc(square("1", 0, 0, 1, { name: "Town" }), square("2", 1, 0, 1, { name: "Town" }));
    expect(labeller(d)("2", d.features[1]!.properties)).toBe("2");
    const blank = doc(square("1", 0, 0, 1, { name: " " }), square("2", 1, 0, 1, { name: "B" }), square("3", 1, 0, 1, { name: "C" }));
    expect(labeller(blank)("1", blank.features[0]!.properties)).toBe("1");
  });
});

describe("nameAlone", () => {
  it("takes the property that is surest to be a name, with the key behind it", () => {
    expect(nameAlone("7", { DistrictName: "North", name: "N 1" })).toBe("N 1 · 7");
    expect(nameAlone("7", { title: "T", Label: "L" })).toBe("T · 7");
    expect(nameAlone("7", { BoroName: " Queens ", NTAName: "Soho" })).toBe("Queens · 7");
  });

  it("takes the key where nothing names the fence, or only the key does", () => {
    expect(nameAlone("7", { name: "7" })).toBe("7");
    expect(nameAlone("7", { name: 3, code: "x", title: " " })).toBe("7");
    expect(nameAlone("7", null)).toBe("7");
  });
});

describe("lines", () => {
  it("have the bounds of their vertices", () => {
    const line = { type: "LineString" as const, coordinates: [[13, 52], [14, 51, 7]] };
    const lines = { type: "MultiLineString" as const, coordinates: [[[1, 2], [3, 4]], [[-5, 0], [0, 0]]] };
    const features = [line, lines].map((geometry, i) => ({ type: "Feature" as const, id: String(i), geometry, properties: null }));
    const set = buildSet(info("routes"), 0, doc(...features));
    expect(set.fences.map(({ bounds }) => bounds)).toEqual([[13, 51, 14, 52], [-5, 0, 3, 4]]);
  });
});

describe("sets", () => {
  it("are large by their fences or their edges", () => {
    expect(isLarge({ ...info("s"), fences: 2_500, edges: 250_000 })).toBe(false);
    expect(isLarge({ ...info("s"), fences: 2_501 })).toBe(true);
    expect(isLarge({ ...info("s"), fences: 1, edges: 250_001 })).toBe(true);
  });

  it("finds fences by name and key, those that begin with it first", () => {
    const set = buildSet(info("s"), 0, doc(square("a1", 0, 0, 1, { name: "East Harlem" }), square("a2", 1, 0, 1, { name: "Harlem" }), square("b", 2, 0, 1, { name: "Soho" })));
    expect(searchFences([set], "harl", 5).map((fence) => fence.key)).toEqual(["a2", "a1"]);
    expect(searchFences([set], "b", 5).map((fence) => fence.key)).toEqual(["b"]);
    expect(searchFences([set], "a", 1)).toHaveLength(1);
    expect(searchFences([set], "  ", 5)).toEqual([]);
  });

  it("knows each fence's box, also of several parts", () => {
    const multi = doc({
      type: "Feature",
      id: "m",
      properties: null,
      geometry: { type: "MultiPolygon", coordinates: [[[[0, 0], [1, 0], [1, 1], [0, 0]]], [[[5, -3], [6, 2], [5, 2], [5, -3]]]] },
    });
    expect(buildSet(info("s"), 0, multi).fences[0]?.bounds).toEqual([0, -3, 6, 2]);
  });

  it("gives the map geometry and ordinals only", () => {
    const set = buildSet(info("s"), 0, doc(square("a", 0, 0, 1, { secret: "x".repeat(100) })));
    const shapes = set.drawn as FeatureCollection;
    expect(shapes.features[0]).toEqual({ type: "Feature", id: 0, properties: {}, geometry: square("a", 0, 0, 1).geometry });
  });

  it("draws large fences below small ones", () => {
    const large = buildSet(info("large"), 0, doc(square("a", 0, 0, 9)));
    const small = buildSet(info("small"), 0, doc(square("a", 0, 0, 1), square("b", 1, 0, 1)));
    expect(drawingOrder([small, large]).map((set) => set.info.name)).toEqual(["large", "small"]);
  });
});

it("union makes one box of many", () => {
  expect(union([])).toBeNull();
  expect(union([[0, 0, 1, 1], [Infinity, Infinity, -Infinity, -Infinity], [-2, 3, 0, 4]])).toEqual([-2, 0, 1, 4]);
});

describe("the name of a file's set", () => {
  it("is the one that the server would give it", () => {
    expect(setName("NYC zones 2010.geojson")).toBe("nyc-zones-2010");
    expect(setName("--a..b--.json")).toBe("a-b");
    expect(setName("日本.json")).toBe("");
  });
});

describe("what came of a file", () => {
  const report = { name: "a", generation: 1, fences: 1, parts: 1, edges: 3, kind: "rtree", bbox: null, findings: 0, reasons: [] };
  const finding = { feature: 1, reason: "a Point has no area", refused: false };

  it("is the set and its fences", () => {
    expect(outcome("A.json", report)).toBe("A.json is the set a now, with 1 fence.");
    expect(outcome("A.json", { ...report, fences: 1200 })).toBe("A.json is the set a now, with 1,200 fences.");
  });

  it("is what is wrong in it", () => {
    const reasons = [{ feature: -1, reason: "no features", refused: false }, { feature: 0, fence: "b", reason: "no area", refused: true }, finding];
    expect(outcome("a", { ...report, reasons })).toBe(
      "a is the set a now, with 1 fence. The document: no features. Feature 0 (b): no area. Feature 1: a Point has no area.",
    );
    expect(outcome("a", { ...report, reasons: Array.from({ length: 5 }, () => finding) })).toMatch(/ 2 more findings: GET \/v1\/sets\/a\?findings=1\.$/);
  });
});
