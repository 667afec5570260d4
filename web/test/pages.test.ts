import { describe, expect, it, vi } from "vitest";
import { parseView } from "../src/view";

vi.stubGlobal("document", { baseURI: "http://127.0.0.1:8080/rules" });
const { formatQuery, parseQuery } = await import("../src/frame/address");
const { explain, sentence } = await import("../src/frame/request");
const { ApiError } = await import("../src/api");
const { findingPlace, indexText, mapAddress, parseJSON, policyOf } = await import("../src/model/setpage");
const { dayOf, expiryOf, keyChange, keyForm, keyState, namesOf, scopeText } = await import("../src/model/keys");
const { hostOf, newSecret, outcomeText, selectsText, stateWord, webhookForm, webhookOf } = await import("../src/model/webhooks");
const { appSetup, isLocal, qrPath, sourceText } = await import("../src/model/devices");
const { bridgeState, droppedMessages, droppedText } = await import("../src/model/bridges");
const { Meter } = await import("../src/model/meter");
const { pageAt, pages } = await import("../src/nav/pages");

describe("addresses", () => {
  it.each([["", {}], ["?rule=a%20b", { rule: "a b" }], ["?rule=%C3%A9&q=x%26y", { rule: "é", q: "x&y" }]])("%s holds its parameters", (query, parameters) => {
    expect(parseQuery(query)).toEqual(parameters);
    expect(formatQuery(parameters)).toBe(query);
  });

  it("leave empty parameters out, and take the first of two", () => {
    expect(formatQuery({ id: "", sink: "a" })).toBe("?sink=a");
    expect(parseQuery("?id=1&id=2")).toEqual({ id: "1" });
  });

  it("name pages, also below a prefix, or none", () => {
    expect([pageAt("/rules")?.label, pageAt("/prefix/keys")?.label, pageAt("/"), pageAt("/page.html"), pageAt("/other")]).toEqual(["Rules", "Keys", null, null, null]);
    expect(new Set(pages.map(({ name }) => name)).size).toBe(pages.length);
  });
});

describe("failures", () => {
  it("are explained", () => {
    expect(explain(new ApiError(412, "precondition failed"))).toBe("It was changed meanwhile: reload it, and make the change again.");
    expect(explain(new ApiError(403, "the key needs admin"))).toBe("Not allowed: the key needs admin.");
    expect(explain(new ApiError(400, "body: set: missing"))).toBe("body: set: missing.");
    expect(explain(new Error("Choose a file first."))).toBe("Choose a file first.");
    expect(sentence("done!")).toBe("Done!");
  });
});

describe("sets", () => {
  it("have a place on the map", () => {
    const { at } = parseView(mapAddress([13.4, 52.5, 13.5, 52.55]).replace("./", ""));
    expect(at?.lon).toBeCloseTo(13.45);
    expect(at?.lat).toBeCloseTo(52.525);
    expect(at?.zoom).toBeGreaterThan(11);
    expect(at?.zoom).toBeLessThan(13);
    expect(parseView(mapAddress([179, -18, -179, -16]).replace("./", "")).at?.lon).toBeCloseTo(-180);
    expect(parseView(mapAddress([-180, -90, 180, 90]).replace("./", "")).at?.zoom).toBe(0.23);
  });

  it("have findings at places", () => {
    expect([findingPlace({ feature: 3, fence: "a" }), findingPlace({ feature: 3 }), findingPlace({ feature: -1 })]).toEqual(["fence a", "feature 3", "the document"]);
    expect([indexText("cellmap", "cellmap"), indexText("auto", "rtree")]).toEqual(["cellmap", "auto: rtree"]);
  });

  it("take policies by preset or as JSON", () => {
    expect(policyOf({ preset: "steady" })).toBe("steady");
    expect(policyOf({ preset: "dwell", time: " 5m " })).toBe("dwell:5m");
    expect(policyOf({ preset: "json", text: '{"preset":"steady","metres":15}' })).toEqual({ preset: "steady", metres: 15 });
    expect(() => policyOf({ preset: "dwell", time: "5" })).toThrow("needs a unit");
    expect(() => parseJSON("{")).toThrow("This is not JSON");
  });
});

describe("keys", () => {
  it("are told with their scopes and states", () => {
    expect([scopeText(undefined), scopeText([]), scopeText(["a", "b"]), scopeText(["a", "b", "c", "d", "e"])]).toEqual(["all", "all", "a, b", "a, b, c and 2 more"]);
    expect([keyState({}), keyState({ file: true }), keyState({ file: true, expired: true })]).toEqual(["", "of the file", "expired"]);
  });

  it("are for names with spaces and commas, one a line", () => {
    expect(namesOf(" Low emission, inner\r\nnorth\n\nnorth")).toEqual(["Low emission, inner", "north"]);
  });

  it("keep what their form does not change, to the second", () => {
    const key = { name: "a", verbs: ["lookup"], fleets: ["Night shift", "a,b"], sets: ["x"], expires: "2020-03-01T12:34:56Z" };
    const form = keyForm(key);
    expect(keyChange({ ...form, verbs: ["lookup", "events:read"] }, key)).toEqual({ verbs: ["lookup", "events:read"] });
    expect(keyChange({ ...form, fleets: `${form.fleets}\nnew`, sets: "", expires: "" }, key)).toEqual({ verbs: ["lookup"], fleets: ["Night shift", "a,b", "new"], sets: [], expires: "" });
    expect(keyChange({ verbs: ["admin"], fleets: "", sets: "", expires: "2026-12-31" })).toEqual({ verbs: ["admin"], expires: expiryOf("2026-12-31") });
  });

  it("expire at the end of a day", () => {
    expect(expiryOf("")).toBe("");
    expect(dayOf(expiryOf("2026-12-31"))).toBe("2026-12-31");
    expect(expiryOf("2026-12-31")).toMatch(/^202[67]-\d\d-\d\dT\d\d:\d\d:59Z$/);
    expect([dayOf(undefined), dayOf("never")]).toEqual(["", ""]);
    expect(() => expiryOf("soon")).toThrow("not a day");
  });
});

describe("webhooks", () => {
  it("keep what the form does not show", () => {
    const webhook = { id: "ops", url: "https://a.example/x", secrets: ["[hidden]"], headers: { X: "[hidden]" }, enabled: false, format: "cloudevents-batch", max_batch: 20, events: ["enter"], sets: ["Depots, north"], fences: ["a b", " c"] };
    expect(webhookOf(webhookForm(webhook), webhook)).toEqual(webhook);
    expect(webhookOf({ ...webhookForm(webhook), sets: "", fences: "", events: [], format: "cloudevents" }, webhook)).toEqual({ id: "ops", url: "https://a.example/x", secrets: ["[hidden]"], headers: { X: "[hidden]" }, enabled: false, format: "cloudevents" });
    expect(() => webhookOf(webhookForm({ url: " " }))).toThrow("needs a URL");
    expect(() => webhookOf({ ...webhookForm({ url: "https://a.example" }), maxBatch: "x" })).toThrow("not a whole number");
  });

  it("are told in words", () => {
    expect([stateWord({ state: "active", failures: 0 }), stateWord({ state: "waiting", failures: 2 }), stateWord({ state: "disabled", failures: 9 })].map(({ word }) => word)).toEqual(["delivering", "failing", "disabled"]);
    expect([outcomeText({ outcome: "failed", status: 500 }), outcomeText({ outcome: "failed" })]).toEqual(["failed, 500", "failed"]);
    expect([hostOf("https://a.example:8443/x"), hostOf("[hidden]")]).toEqual(["a.example:8443", "[hidden]"]);
    expect([selectsText({ url: "" }), selectsText({ url: "", events: ["enter"], sets: ["a", "b"], objects: "bus-*" })]).toEqual(["all events", "enter; of a, b; objects bus-*"]);
  });

  it("get secrets as Standard Webhooks writes them", () => {
    expect(newSecret(new Uint8Array(32))).toBe("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=");
    expect(newSecret()).not.toBe(newSecret());
  });
});

describe("devices", () => {
  it("have settings for each app, with the key where the app takes it", () => {
    const values = (app: "traccar" | "owntracks" | "osmand"): string[] => appSetup(app, "https://a.example/", "k/1", "north").settings.map(([, value]) => value);
    expect(values("traccar")).toEqual(["https://a.example/in/osmand/k%2F1"]);
    expect(values("owntracks")).toEqual(["https://a.example/in/owntracks?fleet=north", "k/1"]);
    expect(values("osmand")[0]).toContain("/in/osmand/k%2F1?id=phone&lat={0}&lon={1}");
    expect(appSetup("traccar", "https://a.example", "k").code).toBe("https://a.example/in/osmand/k?accuracy=high&distance=0&interval=10&buffer=true");
  });

  it("are not reached at addresses of this machine alone", () =>
    expect(["localhost", "127.0.0.1", "[::1]", "192.168.1.7", "a.example"].map(isLocal)).toEqual([true, true, true, false, false]));

  it("scan codes with a margin", () => expect(qrPath(["101", "010", "011"])).toEqual({ path: "M4 4h1v1h-1zM6 4h1v1h-1zM5 5h1v1h-1zM5 6h2v1h-2z", size: 11 }));

  it("have sources that are connected or not", () =>
    expect([sourceText(undefined), sourceText({ connected: true }), sourceText({ connected: false })].map(({ word }) => word)).toEqual(["", "connected", "not connected"]));
});

describe("the meter", () => {
  it("is the growth in a second, over the last five", () => {
    const meter = new Meter();
    meter.add(1_000, new Map([["a", 10]]));
    expect([meter.of("a"), meter.orZero("a")]).toEqual([NaN, 0]);
    meter.add(3_000, new Map([["a", 30], ["b", 1]]));
    expect([meter.of("a"), meter.of("b")]).toEqual([10, NaN]);
    meter.add(500, new Map([["a", 1]]));
    expect(meter.of("a")).toBeNaN();
  });
});

describe("bridges", () => {
  it("are connected, or have a reason", () =>
    expect([{ connected: true, age_ms: 61_000 }, { connected: false, age_ms: 0 }, { connected: false, age_ms: 0, error: "refused" }].map(bridgeState)).toEqual(["connected for 1 min 1 s", "connects", "refused"]));

  it("count what they drop, without the loops that they end", () => {
    const bridge = { dropped_in: { loop: 7, denied: 1 }, dropped_out: { full: 1200 } };
    expect(droppedMessages(bridge)).toBe(1201);
    expect(droppedText(bridge)).toBe("in, loop: 7\nin, denied: 1\nout, full: 1,200");
  });
});
