// Sheet: a flat canvas above the others, for what is drawn as text and discs: labels and crowds. It is cleared only if
// something was on it, so that an empty one costs nothing.

export class Sheet {
  readonly canvas = document.createElement("canvas");
  readonly #context: CanvasRenderingContext2D;
  #drawn = false;

  constructor() {
    this.canvas.className = "map-overlay";
    this.canvas.setAttribute("aria-hidden", "true");
    const context = this.canvas.getContext("2d");
    if (!context) throw new Error("a canvas has no 2d context");
    this.#context = context;
  }

  /** Calls paint with an empty canvas in CSS pixels, unless there is nothing to paint. */
  draw(width: number, height: number, something: boolean, paint: (context: CanvasRenderingContext2D) => void): void {
    if (!something && !this.#drawn) return;
    const ratio = window.devicePixelRatio || 1;
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.canvas.width !== w || this.canvas.height !== h) [this.canvas.width, this.canvas.height] = [w, h];
    const context = this.#context;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, w, h);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.#drawn = something;
    if (something) paint(context);
  }
}
