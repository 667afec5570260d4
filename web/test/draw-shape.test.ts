// Shapes and their measures.

import { describe, expect, it } from "vitest";
import { areaOf, away, circleOf, formatArea, measures, metres, ringOf } from "../src/draw/measure";
import {
  addHole, insertVertex, middleBehind, middleOf, moveAll, moveVertex, placesOf, point, removeVertex, shapeOf, vertexAt, type Point, type Polygon, type Shape,
} from "../src/draw/shape";

const ring: Point[] = [[0, 0], [2, 0], [2, 2], [0, 2]];
const square: Polygon = { kind: "polygon", parts: [[ring]] };
const first = { part: 0, ring: 0, index: 0 };
const at = (index: number, ringIndex = 0, part = 0): { part: number; ring: number; index: number } => ({ part, ring: ringIndex, index });

describe("a shape", () => {
  it("changes at one place, and leaves the old one as it was", () => {
    const moved = moveVertex(square, at(2), [3, 3]);
    expect(vertexAt(moved, at(2))).toEqual([3, 3]);
    expect(vertexAt(square, at(2))).toEqual([2, 2]);
    const inserted = insertVertex(square, at(3), [-1, 1]);
    expect(placesOf(inserted)).toHaveLength(5);
    expect(vertexAt(inserted, at(4))).toEqual([-1, 1]);
  });

  it("has a middle behind each vertex, also behind the last one of a ring, and none behind the end of a line", () => {
    expect(middleBehind(square, at(3))).toEqual([0, 1]);
    const line: Shape = { kind: "line", parts: [[ring]] };
    expect(middleBehind(line, at(2))).toEqual([1, 2]);
    expect(middleBehind(line, at(3))).toBeUndefined();
  });

  it("keeps three corners, loses holes and further parts whole, and never its last part", () => {
    const triangle = removeVertex(square, first);
    expect(placesOf(triangle)).toHaveLength(3);
    expect(removeVertex(triangle, first)).toBe(triangle);
    const hole: Point[] = [[0.5, 0.5], [1, 0.5], [1, 1]];
    const holed = addHole(square, hole);
    expect(placesOf(holed)).toHaveLength(7);
    expect(removeVertex(holed, at(1, 1))).toEqual(square);
    const two: Shape = { kind: "polygon", parts: [[ring], [hole]] };
    expect(removeVertex(two, at(0, 0, 1))).toEqual(square);
  });

  it("takes a hole into the part that holds it", () => {
    const far = ring.map(([lon, lat]): Point => [lon + 10, lat]);
    const two: Shape = { kind: "polygon", parts: [[ring], [far]] };
    const holed = addHole(two, [[10.5, 0.5], [11, 0.5], [11, 1]]) as Polygon;
    expect(holed.parts.map((rings) => rings.length)).toEqual([1, 2]);
  });

  it("moves as a whole, and not beyond the ranges of longitude and latitude", () => {
    expect(moveAll(square, 1, -1)).toEqual({ kind: "polygon", parts: [[[[1, -1], [3, -1], [3, 1], [1, 1]]]] });
    expect(middleOf(moveAll(square, 500, 500))).toEqual([179, 89]);
    expect(point(200, -100)).toEqual([180, -90]);
    expect(point(1.23456789, 0)).toEqual([1.2345679, 0]);
  });

  it("comes of placed points, once they are enough", () => {
    expect(shapeOf("polygon", ring.slice(0, 2), metres)).toBeNull();
    expect(shapeOf("corridor", ring.slice(0, 2), metres)).toEqual({ kind: "line", parts: [[ring.slice(0, 2)]] });
    expect(shapeOf("circle", [[0, 0]], metres)).toBeNull();
    expect(shapeOf("circle", [[0, 0], [0, 0]], metres)).toBeNull();
    const circle = shapeOf("circle", [[0, 0], [1, 0]], metres);
    expect(circle?.kind === "circle" && Math.round(circle.radius)).toBe(111195);
  });
});

describe("measures", () => {
  it("are those of a sphere", () => {
    expect(metres([0, 0], [1, 0]) / 1000).toBeCloseTo(111.195, 2);
    // A square degree at the equator, and one at 60 degrees north: half as wide.
    const degree = (lat: number): number => areaOf([[0, lat], [1, lat], [1, lat + 1], [0, lat + 1]]) / 1e6;
    expect(degree(0)).toBeCloseTo(12363.7, 0);
    expect(degree(60) / degree(0)).toBeCloseTo(0.4924, 3);
    const reached = away([13.4, 52.5], 1000, 45);
    expect(metres([13.4, 52.5], reached)).toBeCloseTo(1000, 3);
  });

  it("leave holes out of the area, and count them in the boundary", () => {
    const holed = addHole(square, [[0.5, 0.5], [1.5, 0.5], [1.5, 1.5], [0.5, 1.5]]);
    const [[, whole], [, around]] = measures(square, null) as [[string, string], [string, string]];
    const [[, left], [, aroundBoth]] = measures(holed, null) as [[string, string], [string, string]];
    expect(parseFloat(left.replace(",", "")) / parseFloat(whole.replace(",", ""))).toBeCloseTo(0.75, 2);
    expect(parseFloat(aroundBoth)).toBeGreaterThan(parseFloat(around));
  });

  it("say how wide a corridor is", () => {
    expect(measures({ kind: "line", parts: [[[[0, 0], [0.01, 0]]]] }, 40)).toEqual([["Length", "1.1 km"], ["Width", "80 m"]]);
    expect(measures({ kind: "circle", centre: [0, 0], radius: 100 }, null)).toEqual([["Radius", "100 m"], ["Area", "3.14 ha"]]);
    expect([0.3, 1234, 56_000, 2_000_000].map(formatArea)).toEqual(["0.3 m²", "1,234 m²", "5.6 ha", "2 km²"]);
  });

  it("know a circle by its ring, and take no other ring for one", () => {
    const found = circleOf(ringOf([13.4, 52.5], 400, 48));
    expect(found && metres(found.centre, [13.4, 52.5])).toBeLessThan(1);
    expect(found?.radius).toBeCloseTo(400, 0);
    expect(circleOf(ringOf([13.4, 52.5], 400, 12))).toBeNull();
    const dented = ringOf([13.4, 52.5], 400, 48).with(7, [13.4, 52.5]);
    expect(circleOf(dented)).toBeNull();
    const oval = ringOf([13.4, 52.5], 400, 48).map(([lon, lat]): Point => [lon, 52.5 + (lat - 52.5) * 1.1]);
    expect(circleOf(oval)).toBeNull();
  });
});
