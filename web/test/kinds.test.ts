import { describe, expect, it } from "vitest";
import { countOf, isChange, isChosen, kindChoices, kindColour, kindSign, reasonText, toggleChoice, unlistedChoices, verb } from "../src/model/kinds";

const condition = kindChoices.find(({ word }) => word === "condition")!;

describe("kinds", () => {
  it("differ in sign, whatever their colour", () => {
    const signs = kindChoices.flatMap(({ kinds }) => kinds.map(kindSign));
    expect(new Set(signs).size).toBe(signs.length);
  });

  it.each([
    [142, "enter", "142 enters"],
    [1, "exit", "1 exit"],
    [3, "outside", "3 positions outside"],
    [2, "cross", "2 crossings"],
    [1, "condition_begin", "1 condition met"],
    [3, "door_opened", "3 × door opened"],
  ])("count %d %s as %s", (n, kind, want) => expect(countOf(n, kind)).toBe(want));

  it("of a newer server have their names and a neutral sign", () => {
    expect([verb("door_opened"), kindSign("door_opened"), kindColour("door_opened")]).toEqual(["door opened", "other", null]);
    expect(reasonText("solar_flare")).toBe("solar flare");
  });

  it("that repeat are no change", () => expect(["enter", "cross", "inside", "outside"].filter(isChange)).toEqual(["enter", "cross"]));
});

describe("choices", () => {
  it("of two kinds are chosen together", () => {
    expect(toggleChoice(["enter"], condition)).toEqual(["enter", "condition_begin", "condition_end"]);
    expect(toggleChoice(["condition_begin"], condition)).toEqual(["condition_begin", "condition_end"]);
    expect(toggleChoice(["condition_end", "exit", "condition_begin"], condition)).toEqual(["exit"]);
    expect(isChosen(["condition_end"], condition.kinds)).toBe(false);
  });

  it("take in a kind that only the address names", () => {
    expect(unlistedChoices(["enter", "door_opened"])).toEqual([{ word: "door opened", kinds: ["door_opened"], rare: true }]);
  });
});
