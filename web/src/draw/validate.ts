// Validation: what the page can say about a draft before the server is asked. The server's word holds.

import type { Finding } from "../api";
import type { Draft } from "./feature";
import { chainsOf, fewest, type Place, type Shape } from "./shape";

/** Something that keeps a draft from being saved, at a field of the panel. */
export interface Fault {
  readonly field: "set" | "id" | "shape" | "radius" | "properties" | `setting-${string}`;
  readonly text: string;
}

const keyBytes = 256;
const setBytes = 128;
export const radiusRange = { from: 0.01, to: 10_000_000 };
const bufferRange = { from: 0.1, to: 10_000 };
const heightRange = { from: -100_000, to: 100_000 };

export function faultsOf(draft: Draft, target: { set: string; id: string }): Fault[] {
  return [...targetFaults(target), ...shapeFaults(draft), ...settingFaults(draft), ...rowFaults(draft)];
}

function targetFaults({ set, id }: { set: string; id: string }): Fault[] {
  const faults: Fault[] = [];
  if (set === "") faults.push({ field: "set", text: "Choose a set, or name a new one." });
  else if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(set) || set.length > setBytes) {
    faults.push({ field: "set", text: "A set's name is lower-case letters, digits and single dashes." });
  }
  const bytes = new TextEncoder().encode(id).length;
  if (bytes === 0) faults.push({ field: "id", text: "A fence needs an id." });
  else if (bytes > keyBytes) faults.push({ field: "id", text: `An id is at most ${keyBytes} bytes long.` });
  return faults;
}

function shapeFaults({ shape, drawing }: Draft): Fault[] {
  if (drawing) return [{ field: "shape", text: "Finish the drawing first." }];
  if (shape === null) return [{ field: "shape", text: "Nothing has been drawn yet." }];
  if (shape.kind === "circle") {
    const { from, to } = radiusRange;
    return shape.radius >= from && shape.radius <= to ? [] : [{ field: "radius", text: "A radius is from 1 cm to 10,000 km." }];
  }
  const short = chainsOf(shape).flat().some((chain) => chain.length < fewest[shape.kind]);
  if (!short) return [];
  return [{ field: "shape", text: shape.kind === "polygon" ? "A polygon has at least three corners." : "A line has at least two points." }];
}

function settingFaults(draft: Draft): Fault[] {
  const faults: Fault[] = [];
  const given = (name: string): string => draft.settings[name]?.trim() ?? "";
  const number = (name: string, { from, to }: { from: number; to: number }, unit: string): number | null => {
    const text = given(name);
    if (text === "") return null;
    const value = Number(text);
    if (value >= from && value <= to) return value;
    faults.push({ field: `setting-${name}`, text: `A number of ${unit} from ${from.toLocaleString("en")} to ${to.toLocaleString("en")}.` });
    return null;
  };
  if (draft.kind === "corridor" && given("buffer") === "") {
    faults.push({ field: "setting-buffer", text: "A corridor needs its width to each side." });
  } else if (draft.shape?.kind === "line") number("buffer", bufferRange, "metres");
  const floor = number("floor", heightRange, "metres");
  const ceiling = number("ceiling", heightRange, "metres");
  if (floor !== null && ceiling !== null && floor >= ceiling) {
    faults.push({ field: "setting-ceiling", text: "The ceiling is above the floor." });
  }
  number("metres", { from: 0, to: 100_000 }, "metres");
  const fixes = number("fixes", { from: 1, to: 100 }, "positions");
  if (fixes !== null && !Number.isInteger(fixes)) faults.push({ field: "setting-fixes", text: "A whole number." });
  for (const name of ["enter_after", "exit_after"]) {
    const text = given(name);
    if (text !== "" && !/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(text)) faults.push({ field: `setting-${name}`, text: "A duration such as 90s or 5m." });
  }
  return faults;
}

function rowFaults({ rows, name }: Draft): Fault[] {
  const seen = new Set(name.trim() === "" ? [] : ["name"]);
  for (const row of rows) {
    const property = row.name.trim();
    if (property === "" && row.value.trim() !== "") return [{ field: "properties", text: `The value “${row.value.trim()}” has no name.` }];
    if (seen.has(property)) return [{ field: "properties", text: `The property ${property} is there twice.` }];
    if (property !== "") seen.add(property);
  }
  return [];
}

/** What to do about a finding, by its code; others speak for themselves. */
const advice: Record<string, string> = {
  "self-crossing": "Its boundary crosses itself. Move one of the corners beside the mark.",
  "self-touch": "Its boundary touches itself at the mark.",
  "rings-cross": "A hole and a boundary, or two holes, cross each other at the mark.",
  "hole-outside": "A hole is not within the boundary, and cuts nothing out.",
  "nested-holes": "A hole is within another hole.",
  "parts-overlap": "Two parts of it overlap at the mark.",
  spike: "The boundary runs out and back over the same line at the mark.",
  "repeated-vertex": "Two corners in a row are at the same place.",
  "dropped-ring": "A ring has no area, and is left out.",
  "long-edge": "An edge spans over half of the world: it does not cross the antimeridian.",
  "no-area": "There is no area in it.",
  "no-length": "The line has no length.",
};

/** A finding of the server as a sentence. */
export function findingText({ code, reason }: Finding): string {
  // The name of a setting stays as it is written.
  const told = reason.startsWith("paddock:") ? reason : reason.charAt(0).toUpperCase() + reason.slice(1);
  return advice[code ?? ""] ?? (told.endsWith(".") ? told : `${told}.`);
}

/** The vertex of a shape that is nearest to the place of a finding: where a person begins to mend it. */
export function nearestPlace(shape: Shape, [lon, lat]: readonly [number, number]): Place | null {
  let best: Place | null = null;
  let nearest = Infinity;
  for (const [part, rings] of chainsOf(shape).entries()) {
    for (const [ring, chain] of rings.entries()) {
      for (const [index, [x, y]] of chain.entries()) {
        const distance = (x - lon) ** 2 + (y - lat) ** 2;
        if (distance < nearest) [best, nearest] = [{ part, ring, index }, distance];
      }
    }
  }
  return best;
}

/** An id for a fence: of its name, or of its kind, with a number if the plain one is taken. */
export function idFor(name: string, kind: string, taken: (id: string) => boolean): string {
  const slug = name.toLowerCase().normalize("NFKD").replace(/\p{M}/gu, "").replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 80);
  const plain = slug === "" ? kind : slug;
  if (!taken(plain)) return plain;
  for (let i = 2; ; i++) if (!taken(`${plain}-${i}`)) return `${plain}-${i}`;
}
