// Web Mercator: the world as a unit square, x to the east and y to the south (EPSG:3857, scaled).

/** The pole is infinitely far away; the square ends here. */
const maxLatitude = 85.051129;

export function mercatorX(lon: number): number {
  return (lon + 180) / 360;
}

export function mercatorY(lat: number): number {
  const bounded = Math.max(-maxLatitude, Math.min(maxLatitude, lat));
  return 0.5 - Math.log(Math.tan(Math.PI / 4 + (bounded * Math.PI) / 360)) / (2 * Math.PI);
}

export function longitude(x: number): number {
  return x * 360 - 180;
}

export function latitude(y: number): number {
  return (360 / Math.PI) * Math.atan(Math.exp((0.5 - y) * 2 * Math.PI)) - 90;
}
