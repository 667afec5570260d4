// The editor: steps of drawing and editing, their history, and what is stored of them.

import { describe, expect, it, vi } from "vitest";
import type { FenceFeature, Finding } from "../src/api";
import { Editor, hintOf } from "../src/draw/editor";
import { bodyOf, draftOf, emptyDraft, propertiesOf, readValue, writeValue } from "../src/draw/feature";
import { History } from "../src/draw/history";
import { parseRequest } from "../src/draw/link";
import { mayWrite } from "../src/draw/rights";
import type { Point } from "../src/draw/shape";
import { faultsOf, findingText, idFor, nearestPlace } from "../src/draw/validate";

const corners: Point[] = [[0, 0], [2, 0], [2, 2], [0, 2]];
const closed = [...corners, corners[0]!].map(([lon, lat]) => [lon, lat]);
const yard: FenceFeature = { type: "Feature", id: "yard", properties: { name: "Yard", lanes: 3, "paddock:floor": 10 }, geometry: { type: "Polygon", coordinates: [closed] } };
const stored = { set: "sites", id: "yard", tag: '"1"', feature: yard };

function drawn(kind: "polygon" | "circle" | "corridor" | "line", points: readonly Point[]): Editor {
  const editor = new Editor(kind, "sites", () => false);
  for (const at of points) editor.place(at);
  return editor;
}

function opened(): Editor {
  const editor = new Editor("polygon", "sites", (_, id) => id === "yard");
  editor.open(stored);
  return editor;
}

const body = (editor: Editor): unknown => JSON.parse(editor.body);

describe("history", () => {
  it("goes back and forth, and forgets the future after another step", () => {
    const history = new History("a");
    for (const value of ["b", "c"]) history.push(value);
    expect([history.undo(), history.undo(), history.undo()]).toEqual(["b", "a", "a"]);
    expect(history.redo()).toBe("b");
    history.push("d");
    expect([history.redo(), history.canRedo]).toEqual(["d", false]);
  });

  it("takes a run of steps back as one, until something else is between", () => {
    const history = new History(0);
    for (const value of [1, 2, 3]) history.push(value, "drag");
    history.rest();
    history.push(4, "drag");
    expect([history.undo(), history.undo(), history.canUndo]).toEqual([3, 0, false]);
  });

  it("is bounded, and forgets the oldest steps", () => {
    const history = new History(0);
    for (let i = 1; i <= 500; i++) history.push(i);
    let steps = 0;
    for (; history.canUndo; steps++) history.undo();
    expect([steps, history.present]).toEqual([200, 300]);
    // Of large shapes it keeps fewer.
    const large = new History(0, () => 500_000);
    for (let i = 1; i <= 10; i++) large.push(i);
    for (steps = 0; large.canUndo; steps++) large.undo();
    expect(steps).toBe(4);
  });
});

describe("drawing", () => {
  it("places points, takes them back, and finishes when they are enough", () => {
    const editor = drawn("polygon", corners.slice(0, 2));
    expect(editor.complete).toBe(false);
    editor.finish();
    expect(editor.draft.value.shape).toBeNull();
    editor.place([2, 2]);
    editor.undo();
    editor.redo();
    editor.finish();
    expect(editor.draft.value.shape).toEqual({ kind: "polygon", parts: [[corners.slice(0, 3)]] });
    editor.undo();
    expect(editor.draft.value.drawing?.points).toHaveLength(3);
    expect(hintOf(editor.draft.value)).toContain("close it");
  });

  it("stores a circle in the form that the server makes a polygon of, and a corridor as a line with its buffer", () => {
    expect(body(drawn("circle", [[0, 0], [0.01, 0]]))).toEqual({ type: "Feature", properties: null, circle: { lon: 0, lat: 0, radius_m: 1111.95 } });
    const corridor = drawn("corridor", corners.slice(0, 2));
    corridor.finish();
    expect(body(corridor)).toEqual({ type: "Feature", properties: { "paddock:buffer": 50 }, geometry: { type: "LineString", coordinates: [[0, 0], [2, 0]] } });
    corridor.setSetting("buffer", "");
    expect(corridor.faults.map(({ field }) => field)).toEqual(["setting-buffer"]);
  });

  it("takes another kind as long as nothing is placed, and an id of kind and name until one is chosen", () => {
    const editor = new Editor("polygon", "sites", (_, id) => id === "loading-bay");
    editor.choose("line");
    expect([editor.draft.value.kind, editor.target.value.id]).toEqual(["line", "line"]);
    editor.place([0, 0]);
    editor.choose("circle");
    expect(editor.draft.value.kind).toBe("line");
    editor.setName("Loading bay");
    expect(editor.target.value.id).toBe("loading-bay-2");
    editor.setTarget({ id: "bay" });
    editor.setName("Bay 7");
    expect(editor.target.value.id).toBe("bay");
  });
});

describe("editing", () => {
  it("sends a shape that was not changed exactly as it was", () => {
    const precise: FenceFeature = { ...yard, geometry: { type: "Polygon", coordinates: [[[0.12345678901, 0], [2, 0], [2, 2], [0.12345678901, 0]]] } };
    const editor = new Editor("polygon", "sites", () => false);
    editor.open({ ...stored, feature: precise });
    editor.setName("Other");
    expect(body(editor)).toMatchObject({ geometry: precise.geometry });
    expect(editor.dirty).toBe(true);
    editor.undo();
    expect(editor.dirty).toBe(false);
  });

  it("keeps properties of all types, and writes settings as numbers", () => {
    const editor = opened();
    expect(editor.draft.value.rows).toEqual([{ name: "lanes", value: "3" }]);
    editor.setSetting("ceiling", "60");
    editor.setRow(0, { value: "4" });
    expect(propertiesOf(editor.draft.value)).toEqual({ name: "Yard", lanes: 4, "paddock:floor": 10, "paddock:ceiling": 60 });
    for (const value of ["text", "5", "true", '"quoted"', "", " x", 5, true, null, [1], { a: 1 }]) expect(readValue(writeValue(value))).toEqual(value);
  });

  it("keeps the digits of numbers that are too long for a browser", async () => {
    const properties = '{"id":9007199254740993,"at":{"ns":[1795202210123456789,-1e400,1e-400,"9007199254740993"]},"part":0.12345678901234567890,"usual":1.5,"name":"Yard","paddock:floor":10.00000000000000000001}';
    vi.stubGlobal("document", { baseURI: "http://localhost/" });
    vi.stubGlobal("fetch", () => Promise.resolve(new Response(`{"type":"Feature","id":"yard","properties":${properties},"geometry":${JSON.stringify(yard.geometry)}}`)));
    const { fetchStored } = await import("../src/draw/requests");
    const fetched = await fetchStored("sites", "yard");
    vi.unstubAllGlobals();
    const editor = new Editor("polygon", "sites", () => false);
    editor.open(fetched!);
    expect(editor.draft.value.rows).toContainEqual({ name: "id", value: "9007199254740993" });
    expect(editor.draft.value.settings).toEqual({ floor: "10.00000000000000000001" });
    editor.setName("Other");
    for (const member of properties.slice(1, -1).replace('"Yard"', '"Other"').split(/,(?="[a-z:]+":)/)) expect(editor.body).toContain(member);
    expect(body(editor)).toMatchObject({ geometry: yard.geometry });
    editor.setRow(0, { value: "18446744073709551615" });
    expect(editor.body).toContain('"id":18446744073709551615');
    editor.setRow(0, { value: '"18446744073709551615"' });
    expect(editor.body).toContain('"id":"18446744073709551615"');
  });

  it("inserts behind, selects what is new, and selects a neighbour of what is gone", () => {
    const editor = opened();
    editor.insert({ part: 0, ring: 0, index: 3 });
    expect(editor.selected.value).toEqual({ part: 0, ring: 0, index: 4 });
    editor.remove({ part: 0, ring: 0, index: 4 });
    expect(editor.selected.value).toEqual({ part: 0, ring: 0, index: 3 });
    editor.step(1);
    expect(editor.selected.value).toEqual({ part: 0, ring: 0, index: 0 });
    for (let i = 0; i < 4; i++) editor.remove({ part: 0, ring: 0, index: 0 });
    expect(editor.said.value).toContain("three corners");
  });

  it("cuts a hole, and gives it up", () => {
    const editor = opened();
    editor.cut();
    expect(editor.faults.map(({ field }) => field)).toEqual(["shape"]);
    expect(editor.abandonHole()).toBe(true);
    expect(editor.abandonHole()).toBe(false);
    editor.cut();
    for (const at of [[0.5, 0.5], [1, 0.5], [1, 1]] as Point[]) editor.place(at);
    editor.finish();
    expect(body(editor)).toMatchObject({ geometry: { coordinates: [closed, [[0.5, 0.5], [1, 0.5], [1, 1], [0.5, 0.5]]] } });
  });

  it("reads parts and lines, and writes them in the same form", () => {
    for (const geometry of [
      { type: "MultiPolygon", coordinates: [[closed], [closed.map(([lon, lat]) => [lon! + 5, lat!])]] },
      { type: "MultiLineString", coordinates: [[[0, 0], [1, 1]], [[2, 2], [3, 3]]] },
      { type: "LineString", coordinates: [[0, 0], [1, 1]] },
    ] as FenceFeature["geometry"][]) {
      const draft = draftOf({ type: "Feature", id: "x", properties: null, geometry });
      expect(JSON.parse(bodyOf(draft, null))).toEqual({ type: "Feature", properties: null, geometry });
    }
  });

  it("makes a copy beside the fence, under an id of its own", () => {
    const editor = opened();
    editor.open(stored, true);
    expect([editor.stored, editor.target.value.id, editor.draft.value.name, editor.dirty]).toEqual([null, "yard-copy", "Yard (copy)", false]);
  });
});

describe("what is in the way", () => {
  const target = { set: "sites", id: "a" };
  it("is told at its field", () => {
    const draft = { ...emptyDraft("polygon"), drawing: null, shape: { kind: "polygon" as const, parts: [[corners]] } };
    const fields = (change: object, to = target): string[] => faultsOf({ ...draft, ...change }, to).map(({ field }) => field);
    expect(fields({})).toEqual([]);
    expect(fields({}, { set: "Sites!", id: "" })).toEqual(["set", "id"]);
    expect(fields({}, { set: "", id: "ü".repeat(129) })).toEqual(["set", "id"]);
    expect(fields({ shape: null })).toEqual(["shape"]);
    expect(fields({ settings: { floor: "20", ceiling: "10" } })).toEqual(["setting-ceiling"]);
    expect(fields({ settings: { fixes: "1.5", enter_after: "soon", exit_after: "1m30s", metres: "-1" } })).toEqual(["setting-metres", "setting-fixes", "setting-enter_after"]);
    expect(fields({ rows: [{ name: "a", value: "1" }, { name: "a", value: "2" }] })).toEqual(["properties"]);
    expect(fields({ rows: [{ name: "", value: "1" }] })).toEqual(["properties"]);
  });

  it("is said of a finding in words, with the point to begin at", () => {
    const finding: Finding = { feature: -1, code: "self-crossing", reason: "ring 0: two of its edges cross", at: [1.9, 1.8], refused: false };
    expect(findingText(finding)).toContain("crosses itself");
    expect(findingText({ ...finding, code: "new-code" })).toBe("Ring 0: two of its edges cross.");
    expect(findingText({ ...finding, code: "invalid-setting", reason: "paddock:fixes: 0" })).toBe("paddock:fixes: 0.");
    expect(nearestPlace({ kind: "polygon", parts: [[corners]] }, [1.9, 1.8])).toEqual({ part: 0, ring: 0, index: 2 });
  });

  it("is no key without the verb, or for other sets", () => {
    expect(mayWrite(null, "a")).toBe(false);
    expect(mayWrite({ name: "k", verbs: ["lookup"] }, "a")).toBe(false);
    expect(mayWrite({ name: "k", verbs: ["sets:write"], sets: ["a"] }, "a")).toBe(true);
    expect(mayWrite({ name: "k", verbs: ["sets:write"], sets: ["a"] }, "b")).toBe(false);
    expect(mayWrite({ name: "k", verbs: ["admin"] })).toBe(true);
  });
});

it("finds ids that are free", () => {
  expect(idFor("Cafétéria No. 7", "polygon", () => false)).toBe("cafeteria-no-7");
  expect(idFor("☃", "polygon", (id) => id === "polygon" || id === "polygon-2")).toBe("polygon-3");
});

it("reads what the address requests", () => {
  expect(parseRequest("?draw=circle&at=1,2,3")).toEqual({ kind: "draw", shape: "circle" });
  expect(parseRequest("?at=1,2,3&edit=my-set/a%2Fb")).toEqual({ kind: "edit", set: "my-set", fence: "a/b" });
  for (const query of ["", "?draw=star", "?edit=a", "?edit=/b", "?edit=%/b", "?fence=a/b"]) expect(parseRequest(query)).toBeNull();
});
