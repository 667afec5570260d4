// Many objects that move: what the tests and the measurement of 50,000 objects report.

export const squares = { west: 13, south: 52, step: 0.02, columns: 12, rows: 8 };

/** A set of squares without gaps, each with a name. */
export function squareSet() {
  const { west, south, step, columns, rows } = squares;
  const features = [];
  for (let y = 0; y < rows; y++) {
    for (let x = 0; x < columns; x++) {
      const [w, s] = [west + x * step, south + y * step];
      const ring = [[w, s], [w + step, s], [w + step, s + step], [w, s + step], [w, s]];
      features.push({ type: "Feature", id: `${x}-${y}`, properties: { name: `Square ${x}/${y}` }, geometry: { type: "Polygon", coordinates: [ring] } });
    }
  }
  return JSON.stringify({ type: "FeatureCollection", features });
}

const kinds = [["bus", "buses"], ["van", "vans"], ["taxi", "taxis"]];

/** NDJSON with a position of each object at a time, Unix ms: every one drives to and fro within the squares. */
export function positions(count, t) {
  const { west, south, step, columns, rows } = squares;
  const lines = [];
  for (let i = 0; i < count; i++) {
    // A lattice that does not line up with the squares, denser in the middle.
    const [u, v] = [(i * 0.7548776662) % 1, (i * 0.5698402909) % 1];
    const pull = 0.5 + 0.5 * ((i * 0.3141592653) % 1);
    const lon = west + columns * step * (0.5 + (u - 0.5) * pull) + 0.002 * Math.sin(t / 20_000 + i);
    const lat = south + rows * step * (0.5 + (v - 0.5) * pull);
    const [kind, fleet] = kinds[i % kinds.length];
    lines.push(`{"id":"${kind}-${i}","fleet":"${fleet}","lon":${lon.toFixed(7)},"lat":${lat.toFixed(7)},"t":${t},"speed":${i % 5 === 0 ? 0 : 9},"heading":${i % 360}}`);
  }
  return lines.join("\n");
}

/** Sends them in parts that fit into a request. */
export async function post(url, ndjson) {
  const lines = ndjson.split("\n");
  for (let i = 0; i < lines.length; i += 25_000) {
    const body = lines.slice(i, i + 25_000).join("\n");
    const answer = await fetch(new URL("v1/positions", url), { method: "POST", body, headers: { "content-type": "application/x-ndjson" } });
    if (!answer.ok) throw new Error(`v1/positions: ${answer.status} ${await answer.text()}`);
    await answer.arrayBuffer();
  }
}
