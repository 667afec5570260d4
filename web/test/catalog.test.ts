import { afterEach, describe, expect, it, vi } from "vitest";
import type { SetInfo } from "../src/api";

afterEach(() => vi.unstubAllGlobals());

function info(name: string, generation: number): SetInfo {
  return { name, generation, fences: 0, parts: 0, edges: 0, kind: "rtree", bbox: null, findings: 0 };
}

describe("Catalog", () => {
  it("does not show a set that was removed while it was being fetched", async () => {
    let answer: (response: Response) => void = () => undefined;
    vi.stubGlobal("document", { baseURI: "http://localhost/" });
    vi.stubGlobal("fetch", () => new Promise<Response>((resolve) => (answer = resolve)));
    const { Catalog } = await import("../src/model/catalog");
    const catalog = new Catalog();
    const fetched = catalog.apply([info("brief", 1)]);
    await catalog.apply([]);
    answer(Response.json({ type: "FeatureCollection", features: [] }));
    await fetched;
    expect([...catalog.sets.value.keys()]).toEqual([]);
  });

  it("keeps a list that was told while an older one was being fetched", async () => {
    let answer: (response: Response) => void = () => undefined;
    vi.stubGlobal("document", { baseURI: "http://localhost/" });
    vi.stubGlobal("fetch", (url: string) =>
      url.endsWith("/v1/sets") ? new Promise<Response>((resolve) => (answer = resolve)) : Promise.resolve(Response.json({ type: "FeatureCollection", features: [] })),
    );
    const { Catalog } = await import("../src/model/catalog");
    const catalog = new Catalog();
    const loaded = catalog.load();
    await catalog.apply([info("a", 2), info("b", 1)]);
    answer(Response.json({ sets: [info("a", 1)] }));
    await loaded;
    expect(catalog.infos.value.map(({ name, generation }) => `${name} ${generation}`)).toEqual(["a 2", "b 1"]);
    expect(catalog.sets.value.get("a")?.info.generation).toBe(2);
  });

  it("lacks a fence that was made here only when the set was loaded without it", async () => {
    vi.stubGlobal("document", { baseURI: "http://localhost/" });
    vi.stubGlobal("fetch", () => Promise.resolve(Response.json({ type: "FeatureCollection", features: [] })));
    const { Catalog } = await import("../src/model/catalog");
    const catalog = new Catalog();
    expect(catalog.lacks("a", "new")).toBe(false);
    await catalog.apply([info("a", 1)]);
    expect(catalog.lacks("a", "new")).toBe(true);
    catalog.made("a", "new");
    expect([catalog.lacks("a", "new"), catalog.lacks("a", "other")]).toEqual([false, true]);
    await catalog.apply([info("a", 2)]);
    expect(catalog.lacks("a", "new")).toBe(true);
  });

  it("does not load a large set, and fetches a fence of it once, when it is asked for", async () => {
    const asked: string[] = [];
    vi.stubGlobal("document", { baseURI: "http://localhost/" });
    vi.stubGlobal("fetch", (url: string) => {
      asked.push(new URL(url).pathname);
      if (url.endsWith("/none")) return Promise.resolve(Response.json({ detail: "no such fence" }, { status: 404 }));
      const geometry = { type: "Polygon", coordinates: [[[1, 2], [3, 2], [3, 5], [1, 2]]] };
      return Promise.resolve(Response.json({ type: "Feature", id: "a", properties: { name: "A" }, geometry }));
    });
    const { Catalog } = await import("../src/model/catalog");
    const catalog = new Catalog();
    await catalog.apply([{ ...info("large", 4), fences: 100_000 }]);
    expect(asked).toEqual([]);
    expect(catalog.sets.value.get("large")?.drawn).toBe("http://localhost/v1/sets/large/tiles/{z}/{x}/{y}?v=4.0");
    expect(catalog.fenceName("large", "a")).toEqual({ set: "large", key: "a", label: "a", feature: "a" });
    expect(catalog.label("large", "a", { name: "A" })).toBe("A · a");

    for (const key of ["a", "none", "a"]) catalog.meet("large", key);
    await vi.waitFor(() => expect(catalog.lacks("large", "none")).toBe(true));
    expect(catalog.fence("large", "a")).toMatchObject({ label: "A · a", bounds: [1, 2, 3, 5], properties: { name: "A" } });
    catalog.meet("large", "none");
    expect(asked).toEqual(["/v1/sets/large/fences/a", "/v1/sets/large/fences/none"]);
  });

  it("draws a large set that changes anew, but not all the time", async () => {
    vi.useFakeTimers();
    vi.stubGlobal("document", { baseURI: "http://localhost/" });
    vi.stubGlobal("window", globalThis);
    const { Catalog } = await import("../src/model/catalog");
    const catalog = new Catalog();
    const version = (): string | undefined => (catalog.sets.value.get("large")?.drawn as string).split("v=")[1];
    for (const generation of [1, 2, 3]) await catalog.apply([{ ...info("large", generation), fences: 100_000 }]);
    expect(version()).toBe("1.0");
    vi.advanceTimersByTime(10_000);
    expect(version()).toBe("3.0");
    vi.useRealTimers();
  });
});

describe("what could not be loaded", () => {
  it("is loaded again, ever less often, and then there is no error", async () => {
    vi.useFakeTimers();
    const asked: number[] = [];
    let status = 503;
    vi.stubGlobal("document", { baseURI: "http://localhost/" });
    vi.stubGlobal("window", globalThis);
    vi.stubGlobal("fetch", (url: string) => {
      const { pathname } = new URL(url);
      if (pathname.endsWith("/broken")) asked.push(Date.now());
      if (pathname.endsWith("/broken") && status !== 200) return Promise.resolve(Response.json({ detail: "busy" }, { status }));
      return Promise.resolve(Response.json(pathname === "/v1/sets" ? { sets: [info("broken", 1), info("good", 1)] } : { type: "FeatureCollection", features: [] }));
    });
    const { Catalog } = await import("../src/model/catalog");
    const catalog = new Catalog();
    await catalog.load();
    expect([[...catalog.sets.value.keys()], catalog.error.value]).toEqual([["good"], "The set broken could not be loaded: busy"]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked.length).toBeGreaterThan(5);
    expect(asked.length).toBeLessThan(15);
    expect(catalog.error.value).toContain("broken");
    status = 200;
    await vi.advanceTimersByTimeAsync(15_000);
    expect([catalog.sets.value.has("broken"), catalog.error.value]).toEqual([true, ""]);
    const { length } = asked;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked.length).toBe(length);
    vi.useRealTimers();
  });

  it("is not loaded again where this key may not see it, or where it is gone", async () => {
    vi.useFakeTimers();
    let [asked, list] = [0, 503];
    vi.stubGlobal("document", { baseURI: "http://localhost/" });
    vi.stubGlobal("window", globalThis);
    vi.stubGlobal("fetch", (url: string) => {
      asked++;
      if (!url.endsWith("/v1/sets")) return Promise.resolve(Response.json({ detail: "no" }, { status: url.endsWith("/secret") ? 403 : 503 }));
      return Promise.resolve(list === 200 ? Response.json({ sets: [info("secret", 1), info("brief", 1)] }) : Response.json({ detail: "busy" }, { status: list }));
    });
    const { Catalog } = await import("../src/model/catalog");
    const catalog = new Catalog();
    await catalog.load();
    expect(catalog.error.value).toBe("The sets could not be loaded: busy");
    list = 200;
    await vi.advanceTimersByTimeAsync(600);
    expect(catalog.infos.value.length).toBe(2);
    await catalog.apply([info("secret", 1)]);
    const before = asked;
    await vi.advanceTimersByTimeAsync(60_000);
    expect([asked, catalog.error.value]).toEqual([before, "The set secret could not be loaded: no"]);
    vi.useRealTimers();
  });
});
