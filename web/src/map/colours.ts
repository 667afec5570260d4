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
  /** Of texts on the map and what keeps them apart from it. */
  ink: string;
  halo: string;
  /** Of crowds: their discs, the numbers in them, and the share that is silent. */
  crowd: { disc: string; text: string; silent: string };
  /** Of a fence's name, by the set's colour. */
  names: string[];
  /** Of fences while the palette tells fleets apart. */
  plain: { fill: string; border: string; name: string };
  basemap: { water: string; green: string; built: string; road: string; minor: string; border: string };
  overlay: {
    moving: RGB;
    dwelling: RGB;
    silent: RGB;
    outline: RGB;
    selection: RGB;
    /** Of fleets, while the palette tells those apart. */
    palette: RGB[];
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
    ink: css("--ink"),
    halo: css("--paper"),
    crowd: { disc: css("--crowd"), text: css("--paper"), silent: css("--silent") },
    names: sets.map((colour) => formatRGB(mix(parseRGB(css("--ink")), parseRGB(colour), 0.55))),
    plain: {
      fill: css("--map-plain"),
      border: formatRGB(mix(paper, parseRGB(css("--map-plain")), border)),
      name: css("--ink-2"),
    },
    basemap: {
      water: css("--map-water"),
      green: css("--map-green"),
      built: css("--map-built"),
      road: css("--map-road"),
      minor: css("--map-road-minor"),
      border: css("--map-line"),
    },
    fill: Number(style.getPropertyValue("--map-fill")) || 0.1,
    overlay: {
      moving: parseRGB(css("--moving")),
      dwelling: parseRGB(css("--dwelling")),
      silent: parseRGB(css("--silent")),
      outline: paper,
      selection: parseRGB(css("--accent")),
      palette: sets.map(parseRGB),
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
