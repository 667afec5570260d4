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
