// The map's colours, read from the style sheet, so that light and dark are defined in one place.

import { kindColours, type KindColour } from "../model/kinds";
import { setColours } from "../model/sets";

/** Red, green, blue from 0 to 1. */
export type RGB = [number, number, number];

export interface MapColours {
  paper: string;
  selection: string;
  /** Of events. */
  kinds: Record<KindColour, string>;
  sets: string[];
  /** Of a line: the set's colour on paper, opaque, so that a border drawn for two neighbours looks the same. */
  borders: string[];
  /** How much of its colour a set's fill shows. */
  fill: number;
  overlay: {
    moving: RGB;
    dwelling: RGB;
    silent: RGB;
    outline: RGB;
    selection: RGB;
    kinds: Record<KindColour, RGB>;
  };
}

export function readColours(): MapColours {
  const probe = document.createElement("i");
  probe.hidden = true;
  document.body.append(probe);
  const css = (name: string): string => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const style = getComputedStyle(document.documentElement);
  const border = Number(style.getPropertyValue("--map-border")) || 0.5;
  const paper = parseRGB(css("--paper"));
  const sets = Array.from({ length: setColours }, (_, i) => css(`--set-${i}`));
  const colours: MapColours = {
    paper: css("--paper"),
    selection: css("--accent"),
    kinds: ofKinds(css),
    sets,
    borders: sets.map((colour) => formatRGB(mix(paper, parseRGB(colour), border))),
    fill: Number(style.getPropertyValue("--map-fill")) || 0.1,
    overlay: {
      moving: parseRGB(css("--moving")),
      dwelling: parseRGB(css("--dwelling")),
      silent: parseRGB(css("--silent")),
      outline: paper,
      selection: parseRGB(css("--accent")),
      kinds: ofKinds((name) => parseRGB(css(name))),
    },
  };
  probe.remove();
  return colours;
}

function ofKinds<T>(read: (name: string) => T): Record<KindColour, T> {
  return Object.fromEntries(kindColours.map((kind) => [kind, read(`--${kind}`)])) as Record<KindColour, T>;
}

/** Computed colours are always rgb(r, g, b) or rgba(...). */
function parseRGB(text: string): RGB {
  const [r = 0, g = 0, b = 0] = (text.match(/[\d.]+/g) ?? []).map(Number);
  return [r / 255, g / 255, b / 255];
}

function formatRGB(colour: RGB): string {
  return `rgb(${colour.map((part) => Math.round(part * 255)).join(",")})`;
}

function mix(from: RGB, to: RGB, share: number): RGB {
  return from.map((part, i) => part + (to[i]! - part) * share) as RGB;
}
