import { describe, expect, it } from "vitest";
import { sightOf } from "../src/model/sight";

describe("a key", () => {
  it.each([
    [null, true, true],
    [{ name: "a", verbs: ["admin"] }, true, true],
    [{ name: "a", verbs: ["events:read", "objects:read"] }, true, true],
    [{ name: "a", verbs: ["events:read", "objects:read"], fleets: ["north"] }, false, true],
    [{ name: "a", verbs: ["events:read", "objects:read"], sets: ["depots"] }, false, true],
    [{ name: "a", verbs: ["objects:read"] }, false, true],
    [{ name: "a", verbs: ["events:read"] }, false, false],
  ])("%j sees everything: %j, objects: %j", (grant, everything, objects) => expect(sightOf(grant)).toEqual({ everything, objects }));
});
