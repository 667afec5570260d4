import { describe, expect, it } from "vitest";
import { fencesText, formOf, formatWeek, matches, objectsText, parseWeek, ruleOf, tellsText, type Rule } from "../src/model/rules";

/** A rule that has gone through the form unchanged. */
const through = (rule: Rule): Rule => ruleOf(formOf(rule), rule);

describe("the form of a rule", () => {
  it.each<Rule>([
    { id: "depots", set: "depots" },
    { id: "a", set: "depots", fences: ["north", "0815"], objects: "bus-*", fleet: "city" },
    { id: "b", set: "schools", fences: { where: { zone: "school", lanes: 2, open: true, code: "7" } }, detect: ["condition"], when: "speed_mph > 20" },
    { id: "c", set: "yards", detect: ["enter", "exit", "dwell"], dwell: { after: "30m", every: "10m" } },
    { id: "d", set: "yards", detect: ["inside", "outside"], inside: { every: "1m" }, outside: { every: "5m" } },
    { id: "e", set: "lines", detect: ["cross"], direction: "left" },
    { id: "f", set: "bays", count: { at_least: 3 } },
    { id: "g", near: { metres: 50, exit_metres: 80, objects: "truck-*", fleet: "north" }, objects: "bus-*" },
    { id: "h", set: "x", active: { zone: "America/New_York", week: { "mon-fri": ["07:00-09:00", "14:00-16:00"], sat: ["10:00-12:00"] }, valid_from: "2026-03-01T00:00:00Z" } },
    { id: "i", set: "x", enabled: false, deliver: { to: ["ops"] } },
    { id: "j", set: "x", detect: ["enter", "exit"] },
    { id: "k", set: "x", fences: { where: { "a=b": "c", '"q"': " spaced", name: "two\nlines", "zone ": "" } } },
  ])("keeps the rule $id as it is", (rule) => expect(through(rule)).toEqual(rule));

  it("keeps members that it does not show", () => {
    const rule = { id: "a", set: "s", later: { x: 1 } } as Rule;
    expect(ruleOf({ ...formOf(rule), objects: "bus-*" }, rule)).toEqual({ id: "a", set: "s", later: { x: 1 }, objects: "bus-*" });
  });

  it("drops what belongs to a kind that is not chosen any more", () => {
    const rule: Rule = { id: "a", set: "s", detect: ["dwell"], dwell: { after: "5m" } };
    expect(ruleOf({ ...formOf(rule), detect: ["enter"] }, rule)).toEqual({ id: "a", set: "s", detect: ["enter"] });
    const lines: Rule = { id: "b", set: "s", detect: ["cross"], direction: "left" };
    expect(ruleOf({ ...formOf(lines), detect: ["enter"] }, lines)).toEqual({ id: "b", set: "s", detect: ["enter"] });
  });

  it("turns a rule about fences into one about objects that meet", () => {
    const rule: Rule = { id: "a", set: "s", fences: ["x"], detect: ["dwell"], dwell: { after: "5m" } };
    expect(ruleOf({ ...formOf(rule), about: "near", metres: "50" }, rule)).toEqual({ id: "a", near: { metres: 50 } });
  });

  it.each([
    [{ detect: [] }, "Choose what the rule tells."],
    [{ about: "near" as const }, "Metres: say how close objects have to be."],
    [{ atLeast: "many" }, "Objects at once: many is not a number."],
    [{ week: "mon-fri" }, "Hours, line 1: write days and times"],
    [{ fences: "where" as const, fencesText: "zone" }, "Fences, line 1: write a property and its value"],
  ])("says what is wrong with %j", (change, message) => expect(() => ruleOf({ ...formOf({ id: "a", set: "s" }), ...change })).toThrow(message));
});

describe("hours", () => {
  it("are lines of days and windows", () => {
    expect(formatWeek({ "mon-fri": ["07:00-09:00", "14:00-16:00"], sat: "10:00-12:00" })).toBe("mon-fri 07:00-09:00, 14:00-16:00\nsat 10:00-12:00");
    expect(parseWeek("mon-fri  07:00-09:00,14:00-16:00\n\nsat 10:00-12:00\nsat 13:00-14:00")).toEqual({ "mon-fri": ["07:00-09:00", "14:00-16:00"], sat: ["10:00-12:00", "13:00-14:00"] });
  });
});

describe("a rule in a line", () => {
  it("tells what, where and of which objects", () => {
    expect(tellsText({ set: "s" })).toBe("enter, exit");
    expect(tellsText({ set: "s", detect: ["dwell"], dwell: { after: "45m" } })).toBe("dwell after 45m");
    expect(tellsText({ set: "s", count: { at_least: 3 } })).toBe("3 objects at once");
    expect(tellsText({ near: { metres: 50 } })).toBe("two objects within 50 m");
    expect([fencesText({ set: "s" }), fencesText({ set: "s", fences: "*" }), fencesText({ set: "s", fences: ["a", "b"] }), fencesText({ set: "s", fences: { where: { zone: "school" } } })]).toEqual(["all", "all", "a, b", "zone=school"]);
    expect([objectsText({}), objectsText({ objects: "bus-*", fleet: "city" })]).toEqual(["all", "bus-* of city"]);
  });

  it("is found by words anywhere in it", () => {
    const rule: Rule = { id: "School-Speed", set: "streets", when: "speed > 30" };
    expect([matches(rule, ""), matches(rule, "school streets"), matches(rule, "SPEED"), matches(rule, "depot")]).toEqual([true, true, true, false]);
  });
});
