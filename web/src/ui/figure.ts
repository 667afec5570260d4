// Figure: one number of the bar, and the minute before as a line.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { h, setText } from "../dom";

const historySeconds = 60;
const plotHeight = 26;

/** A figure of what comes about every second; `t` is Unix ms. */
export interface FigureSpec<S extends { t: number }> {
  label: string;
  title: string;
  /** NaN: nothing was measured. */
  value: (stats: S) => number;
  format: (value: number) => string;
  /** Shown only while it is above zero or was within the last minute. */
  fault?: boolean;
  /** Whether it is shown at all; absent: it is. */
  isShown?: () => boolean;
}

/** A list of figures, and how to show their new values. */
export function createFigureList<S extends { t: number }>(specs: readonly FigureSpec<S>[]): { element: HTMLElement; add: (stats: S) => void } {
  const figures = specs.map((spec) => new Figure(spec));
  const element = h("dl", { class: "figures", tabindex: 0, "aria-label": "Figures" }, ...figures.map((figure) => figure.element));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const figure of figures) figure.redraw();
  });
  const add = (stats: S): void => {
    for (const figure of figures) figure.add(stats);
  };
  return { element, add };
}

class Figure<S extends { t: number }> {
  readonly element: HTMLElement;
  readonly #spec: FigureSpec<S>;
  readonly #value = h("span", { class: "figure-value" }, "–");
  readonly #when = h("span", { class: "figure-when" });
  readonly #plotBox = h("span", { class: "figure-plot", "aria-hidden": "true" });
  readonly #times: number[] = [];
  readonly #values: (number | null)[] = [];
  #plot: uPlot | undefined;
  #hovered: number | null = null;

  constructor(spec: FigureSpec<S>) {
    this.#spec = spec;
    this.element = h(
      "div",
      { class: spec.fault ? "figure fault" : "figure", title: spec.title, hidden: spec.fault },
      h("dt", {}, spec.label, this.#when),
      h("dd", {}, this.#value, this.#plotBox),
    );
    new ResizeObserver(() => this.#resize()).observe(this.#plotBox);
  }

  add(stats: S): void {
    this.#times.push(stats.t / 1000);
    const value = this.#spec.value(stats);
    this.#values.push(Number.isFinite(value) ? value : null);
    while (this.#times[0]! < stats.t / 1000 - historySeconds || this.#times[0]! > stats.t / 1000) {
      this.#times.shift();
      this.#values.shift();
    }
    const { fault = false, isShown = () => true } = this.#spec;
    this.element.hidden = !isShown() || (fault && !this.#values.some((value) => value !== null && value > 0));
    this.#resize();
    this.#plot?.setData([this.#times, this.#values], false);
    this.#rescale();
    this.#write();
  }

  redraw(): void {
    this.#plot?.destroy();
    this.#plot = undefined;
    this.#resize();
  }

  #write(): void {
    const { format } = this.#spec;
    const at = this.#hovered ?? this.#values.length - 1;
    setText(this.#value, format(this.#values[at] ?? NaN));
    const age = Math.round((this.#times.at(-1) ?? 0) - (this.#times[at] ?? 0));
    setText(this.#when, this.#hovered !== null && age > 0 ? ` ${age} s ago` : "");
  }

  #resize(): void {
    const width = this.#plotBox.clientWidth;
    if (width < 20) return;
    if (!this.#plot) {
      this.#plot = this.#create(width);
      this.#rescale();
    } else if (this.#plot.width !== width) this.#plot.setSize({ width, height: plotHeight });
  }

  /** The minute up to now, from zero to a little over the largest value; a flat line lies in the middle. */
  #rescale(): void {
    const now = this.#times.at(-1);
    if (!this.#plot || now === undefined) return;
    const measured = this.#values.filter((value) => value !== null);
    const largest = Math.max(0, ...measured);
    const smallest = Math.min(largest, ...measured);
    // Where zero is far away the line would be flat at the top: show the range that it moves in.
    const min = smallest > largest * 0.6 ? smallest - (largest - smallest || largest || 1) : 0;
    const max = largest + (largest - min || 1) * 0.12;
    this.#plot.batch(() => {
      this.#plot?.setScale("x", { min: now - historySeconds, max: now });
      this.#plot?.setScale("y", { min, max });
    });
  }

  #create(width: number): uPlot {
    const style = getComputedStyle(this.element);
    const stroke = style.getPropertyValue("--plot-line").trim();
    const options: uPlot.Options = {
      width,
      height: plotHeight,
      pxAlign: false,
      padding: [2, 1, 1, 0],
      legend: { show: false },
      cursor: { x: true, y: false, points: { show: false }, drag: { x: false, y: false } },
      axes: [{ show: false }, { show: false }],
      scales: { x: { time: false, auto: false }, y: { auto: false } },
      series: [
        {},
        { stroke, width: 1.25, fill: style.getPropertyValue("--plot-fill").trim(), points: { show: false } },
      ],
      hooks: {
        setCursor: [
          (plot) => {
            this.#hovered = plot.cursor.idx ?? null;
            this.#write();
          },
        ],
      },
    };
    return new uPlot(options, [this.#times, this.#values], this.#plotBox);
  }
}
