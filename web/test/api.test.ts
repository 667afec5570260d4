import { afterEach, describe, expect, it, vi } from "vitest";

afterEach(() => vi.unstubAllGlobals());

/** The module, as a page has it whose server answers so. */
async function api(fetch: () => Promise<Response>): Promise<typeof import("../src/api")> {
  vi.stubGlobal("document", { baseURI: "http://localhost/" });
  vi.stubGlobal("fetch", fetch);
  return import("../src/api");
}

it("passes over records that are no events of fences, and events in another form", async () => {
  const { event } = await import("./events");
  const [enter, outside] = [event(), event({ kind: "outside", fence: null })];
  const near = event({ kind: "near" });
  const records = [enter, { type: "paddock.gap", count: 3 }, { ...near, data: { ...near.data, object: undefined } }, { type: "paddock.fence.count" }, null, outside];
  const { fetchEvents } = await api(() => Promise.resolve(new Response(records.map((record) => JSON.stringify(record)).join("\n"))));
  expect(await fetchEvents({ last: 9 })).toEqual([enter, outside]);
});

describe("a server that cannot be reached", () => {
  it("is named when it gives no answer", async () => {
    const { fetchSets } = await api(() => Promise.reject(new TypeError("Failed to fetch")));
    await expect(fetchSets()).rejects.toThrow("The server does not answer.");
  });

  it("is named when it goes in the middle of an answer", async () => {
    const cut = new ReadableStream({ start: (body) => body.error(new TypeError("network error")) });
    const { fetchSets, fetchEvents } = await api(() => Promise.resolve(new Response(cut)));
    await expect(fetchSets()).rejects.toThrow("The server does not answer.");
    vi.stubGlobal("fetch", () => Promise.resolve(new Response(new ReadableStream({ start: (body) => body.error(new TypeError("network error")) }))));
    await expect(fetchEvents({ last: 1 })).rejects.toThrow("The server does not answer.");
  });
});
