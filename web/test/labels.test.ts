import { describe, expect, it } from "vitest";
import type { FenceGeometry } from "../src/api";
import { labelPoint } from "../src/model/labelpoint";
import { Placement, type Candidate } from "../src/model/labels";

function candidate(key: string, x: number, y: number, change: Partial<Candidate> = {}): Candidate {
  return { key, text: key, x, y, width: 40, height: 12, beside: null, ...change };
}

const none = new Set<string>();

describe("Placement", () => {
  it("gives no two labels the same place, and the first ones go first", () => {
    const labels = new Placement(500, 500).place([candidate("a", 100, 100), candidate("b", 110, 104), candidate("c", 300, 100)], 9, none);
    expect(labels.map(({ key }) => key)).toEqual(["a", "c"]);
  });

  it("keeps labels that were there before", () => {
    const all = [candidate("a", 100, 100), candidate("b", 110, 104)];
    expect(new Placement(500, 500).place(all, 9, new Set(["b"])).map(({ key }) => key)).toEqual(["b"]);
  });

  it("places no more than it may, and none beyond the edge", () => {
    const many = Array.from({ length: 100 }, (_, i) => candidate(`n${i}`, 50 + 60 * (i % 10), 20 + 40 * Math.floor(i / 10)));
    expect(new Placement(1000, 1000).place(many, 7, none)).toHaveLength(7);
    expect(new Placement(1000, 1000).place([candidate("edge", 10, 100), candidate("top", 100, 3)], 9, none)).toEqual([]);
  });

  it("finds another side of an object when one is taken", () => {
    const placement = new Placement(500, 500);
    placement.take(130, 100, 5);
    const [label] = placement.place([candidate("v1", 100, 100, { beside: 8 })], 9, none);
    expect(label).toMatchObject({ dx: -48, dy: 0 });
  });
});

describe("labelPoint", () => {
  const polygon = (...rings: [number, number][][]): FenceGeometry => ({ type: "Polygon", coordinates: rings.map((ring) => [...ring, ring[0]!]) });

  it("is in the middle of a square", () => {
    expect(labelPoint(polygon([[0, 0], [4, 0], [4, 2], [0, 2]]))).toEqual({ lon: 2, lat: 1, width: 4, height: 2 });
  });

  it("is within a shape whose middle is not, and beside a hole", () => {
    // A U, open to the north.
    const u = labelPoint(polygon([[0, 0], [9, 0], [9, 9], [6, 9], [6, 1], [2, 1], [2, 9], [0, 9]]));
    expect(u!.lon).toBeCloseTo(7.5, 9);
    expect(u!.width).toBeCloseTo(3, 9);
    const holed = labelPoint(polygon([[0, 0], [9, 0], [9, 9], [0, 9]], [[1, 3], [3, 3], [3, 6], [1, 6]]));
    expect(holed).toMatchObject({ lon: 6, width: 6 });
  });

  it("is on the widest part, and on the middle of a line", () => {
    const small = [[[10, 10], [11, 10], [11, 11], [10, 11], [10, 10]]];
    const large = [[[0, 0], [4, 0], [4, 2], [0, 2], [0, 0]]];
    expect(labelPoint({ type: "MultiPolygon", coordinates: [small, large] })).toMatchObject({ lon: 2, lat: 1 });
    expect(labelPoint({ type: "LineString", coordinates: [[0, 0], [1, 5], [2, 0]] })).toMatchObject({ lon: 1, lat: 5 });
  });

  it("is nowhere in a shape without area", () => {
    expect(labelPoint({ type: "Polygon", coordinates: [] })).toBeNull();
    expect(labelPoint(polygon([[1, 1], [1, 1], [1, 1]]))).toBeNull();
  });
});
