import { describe, expect, it } from "vitest";
import { emptyView, formatView, noFilter, parseView, type View } from "../src/view";

const views: [string, View][] = [
  ["", emptyView],
  ["?at=-73.96000,40.78000,12.50", { ...emptyView, at: { lon: -73.96, lat: 40.78, zoom: 12.5 } }],
  ["?fence=districts/d-12", { ...emptyView, selection: { kind: "fence", set: "districts", fence: "d-12" } }],
  ["?object=default/v42", { ...emptyView, selection: { kind: "object", fleet: "default", id: "v42" } }],
  ["?record=zones/city%2Fv42%2F17", { ...emptyView, selection: { kind: "event", set: "zones", id: "city/v42/17" } }],
  ["?set=zones&event=enter,exit&fleet=red%20%26%20blue&state=moving,silent&q=two%20words", { ...emptyView, filter: { set: "zones", events: ["enter", "exit"], rule: "", fleet: "red & blue", states: ["moving", "silent"], text: "two words" } }],
  ["?event=dwell&rule=over%20stay", { ...emptyView, filter: { ...noFilter, events: ["dwell"], rule: "over stay" } }],
  ["?hide=a%2Cb,c", { ...emptyView, hidden: ["a,b", "c"] }],
  ["?colour=fleet", { ...emptyView, colouring: "fleet" }],
  ["?past=2026-03-12T11:00:00Z,2026-03-12T12:00:00Z&t=2026-03-12T11:30:00Z&speed=60", { ...emptyView, past: { from: 1_773_313_200_000, to: 1_773_316_800_000, t: 1_773_315_000_000, speed: 60 } }],
  [
    "?at=0.00000,-0.00001,0.00&object=f%26l/%23%3F%2F%25&q=%26%3D%2B",
    {
      ...emptyView,
      at: { lon: 0, lat: -0.00001, zoom: 0 },
      selection: { kind: "object", fleet: "f&l", id: "#?/%" },
      filter: { ...noFilter, text: "&=+" },
    },
  ],
];

describe("a view and its query", () => {
  it.each(views)("%s is written", (query, view) => expect(formatView(view)).toBe(query));
  it.each(views)("%s is read", (query, view) => expect(parseView(query)).toEqual(view));
});

describe("parseView", () => {
  it.each([
    "?at=1,2", "?at=1,2,3,4", "?at=,,", "?at=x,y,z", "?at=181,0,3", "?at=0,91,3", "?at=0,0,99", "?at=0,0,-1", "?at=NaN,0,1",
    "?fence=districts", "?fence=/x", "?fence=x/", "?object=", "?unknown=1", "?&&=&x", "?state=asleep", "?colour=red",
  ])("makes nothing of %s", (query) => expect(parseView(query)).toEqual(emptyView));

  it("takes a stray percent sign as it is", () => {
    expect(parseView("?q=100%").filter.text).toBe("100%");
  });
});
