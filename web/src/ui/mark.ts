// The mark beside the name.

export function mark(): SVGSVGElement {
  const namespace = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(namespace, "svg");
  svg.setAttribute("viewBox", "0 0 32 32");
  svg.setAttribute("class", "mark");
  svg.setAttribute("aria-hidden", "true");
  for (const [name, d] of [
    ["mark-fence", "M6 9 22 5.5 28 18 17 27.5 4 21.5z"],
    ["mark-arrow", "m16.5 10 4.6 10.4-4.6-2.3-4.6 2.3z"],
  ] as const) {
    const path = document.createElementNS(namespace, "path");
    path.setAttribute("d", d);
    path.setAttribute("class", name);
    svg.append(path);
  }
  return svg;
}
