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
});
