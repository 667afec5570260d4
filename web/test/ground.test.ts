import type { Map as GLMap } from "maplibre-gl";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Hello } from "../src/api";
import type { App } from "../src/app";
import type { MapColours } from "../src/map/colours";
import { Signal } from "../src/signal";

const added = vi.fn<() => Promise<string>>();
vi.mock("../src/map/basemap", () => ({ addBasemap: added, recolourBasemap: () => undefined }));

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("matchMedia", () => ({ matches: false }));
  vi.stubGlobal("window", globalThis);
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  added.mockReset();
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

async function begin() {
  const { Ground } = await import("../src/map/ground");
  const [hello, attribution] = [new Signal<Hello | null>(null), new Signal("")];
  const sources = new Set<string>();
  const map = { getSource: (name: string) => (sources.has(name) ? {} : undefined) } as unknown as GLMap;
  new Ground({ hello, attribution } as unknown as App, map, {} as MapColours);
  return { sources, attribution, greet: () => hello.set({ basemap: { kind: "vector" } } as Hello) };
}

describe("a base map that fails to load", () => {
  it("is asked for again, until it is there", async () => {
    const { attribution, sources, greet } = await begin();
    added.mockRejectedValueOnce(new Error("away")).mockRejectedValueOnce(new Error("away")).mockImplementation(() => {
      sources.add("basemap");
      return Promise.resolve("© Painters");
    });
    greet();
    await vi.advanceTimersByTimeAsync(120_000);
    expect([added.mock.calls.length, attribution.value]).toEqual([3, "© Painters"]);
    greet();
    await vi.advanceTimersByTimeAsync(120_000);
    expect(added).toHaveBeenCalledTimes(3);
  });

  it("is given up in the end, until the next connection", async () => {
    added.mockRejectedValue(new Error("away"));
    const { greet } = await begin();
    greet();
    await vi.advanceTimersByTimeAsync(3_600_000);
    const { length } = added.mock.calls;
    expect(length).toBeLessThan(20);
    greet();
    await vi.advanceTimersByTimeAsync(0);
    expect(added).toHaveBeenCalledTimes(length + 1);
  });

  it("is not added twice", async () => {
    const { sources, greet } = await begin();
    added.mockImplementation(() => {
      sources.add("basemap");
      return Promise.reject(new Error("no layer like this"));
    });
    greet();
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(added).toHaveBeenCalledTimes(1);
  });
});
