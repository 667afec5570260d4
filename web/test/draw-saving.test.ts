// Saving: what is sent, and what the page says of it.

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { FenceFeature } from "../src/api";

vi.stubGlobal("document", { baseURI: "http://localhost/" });
vi.stubGlobal("window", globalThis);
const { Editor } = await import("../src/draw/editor");
const { Saving } = await import("../src/draw/saving");

/** A request, whose answer is the test's. */
interface Asked {
  what: string;
  body: string;
  answer: (body: unknown, status?: number) => void;
}

let asked: Asked[];

beforeEach(() => {
  asked = [];
  vi.useFakeTimers();
  vi.stubGlobal("fetch", (url: string, { method = "GET", body = "" }: RequestInit) => {
    const { pathname, search } = new URL(url);
    return new Promise<Response>((resolve) => {
      const answer = (value: unknown, status = 200): void => resolve(Response.json(value, { status }));
      asked.push({ what: `${method} ${pathname}${search}`, body: body as string, answer });
    });
  });
});
afterEach(() => vi.useRealTimers());

const what = (): string[] => asked.map((each) => each.what);

const ring = [[0, 0], [2, 0], [2, 2], [0, 0]];
const yard: FenceFeature = { type: "Feature", id: "yard", properties: { name: "Yard" }, geometry: { type: "Polygon", coordinates: [ring] } };

function opened() {
  const editor = new Editor("polygon", "sites", () => false);
  editor.open({ set: "sites", id: "yard", tag: '"1"', feature: yard });
  return { editor, saving: new Saving(editor) };
}

/** Answers the last request, and lets what follows of it happen. */
async function answer(body: unknown, status?: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(0);
  asked.at(-1)!.answer(body, status);
  await vi.advanceTimersByTimeAsync(0);
}

/** A text that makes a fence too large to be checked. */
const long = "x".repeat(1 << 20);
const crossing = { feature: -1, code: "self-crossing", reason: "two of its edges cross", refused: false };
const nothing = { etag: '"2"', findings: [] };

describe("a fence that is being sent", () => {
  it("takes no change, so that what is here is what is stored", async () => {
    const { editor, saving } = opened();
    editor.setName("First");
    const saved = saving.save();
    await answer(nothing); // the dry run
    const { draft, target } = editor;
    const [sent, to] = [draft.value, target.value];
    editor.setName("Second");
    editor.setRow(0, { value: "4" });
    editor.move({ part: 0, ring: 0, index: 0 }, [1, 1]);
    editor.undo();
    editor.setTarget({ set: "other", id: "other" });
    expect([draft.value, target.value]).toEqual([sent, to]);
    await answer(nothing);
    expect(await saved).toBe(true);
    expect(JSON.parse(asked.at(-1)!.body)).toMatchObject({ properties: { name: "First" } });
  });

  it("takes changes again when it was refused", async () => {
    const { editor, saving } = opened();
    editor.setName("First");
    const saved = saving.save();
    await answer({ detail: "not now" }, 503);
    expect(await saved).toBe(false);
    editor.undo();
    editor.setTarget({ id: "other" });
    expect([editor.draft.value.name, editor.target.value.id]).toEqual(["Yard", "other"]);
  });
});

describe("findings", () => {
  it("are told before it is saved, and are none of a fence that is too large to be checked", async () => {
    const { editor, saving } = opened();
    editor.setName("First");
    let saved = saving.save();
    await answer({ ...nothing, findings: [crossing] });
    expect([await saved, saving.warned, asked.length]).toEqual([false, true, 1]);
    editor.setName(long);
    saved = saving.save();
    await answer(nothing);
    expect([await saved, saving.findings.value, asked.length]).toEqual([true, [], 2]);
  });
});

describe("a fence in a new set", () => {
  const fence = "PUT /v1/sets/plans/fences/yard-copy";
  const copied = () => {
    const { editor, saving } = opened();
    editor.open({ set: "sites", id: "yard", tag: '"1"', feature: yard }, true);
    editor.setTarget({ set: "plans", newSet: true });
    return { editor, saving };
  };

  it("has its findings told before the set is made", async () => {
    const { editor, saving } = copied();
    let saved = saving.save();
    await answer({ etag: "", findings: [crossing] });
    expect([await saved, saving.warned, editor.target.value.newSet]).toEqual([false, true, true]);
    expect(what()).toEqual([`${fence}?dry-run=1`]);
    saved = saving.save();
    await answer({});
    await answer(nothing);
    expect(await saved).toBe(true);
    expect(what()).toEqual([`${fence}?dry-run=1`, "POST /v1/sets/plans", fence]);
  });

  it("is checked while it is edited", async () => {
    const { editor, saving } = copied();
    editor.setName("First");
    await vi.advanceTimersByTimeAsync(1_000);
    await answer({ etag: "", findings: [crossing] });
    expect(saving.warned).toBe(true);
  });
});
