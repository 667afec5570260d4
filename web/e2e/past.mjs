// An hour of the past: five vehicles, of which it is known where they were at each moment.

/** Seconds between two positions of a vehicle. */
export const everyS = 10;
export const lastS = 3600;
/** The time at which a vehicle is silent, and the one at which another one stands, in seconds of the hour. */
export const silence = { id: "van-4", from: 1200, to: 2100 };
export const rest = { id: "van-3", from: 900, to: 1800 };

const middle = { lon: 13.4, lat: 52.52 };
/** Squares of 0.008 degrees of longitude, in a row. */
const yards = [
  ["north", 13.386],
  ["middle", 13.4],
  ["south", 13.414],
];

export const fences = {
  type: "FeatureCollection",
  features: yards.map(([id, lon]) => ({
    type: "Feature",
    id,
    properties: { name: `Yard ${id}` },
    geometry: { type: "Polygon", coordinates: [ring(lon, middle.lat)] },
  })),
};

function ring(lon, lat) {
  const [dx, dy] = [0.004, 0.004];
  return [
    [lon - dx, lat - dy],
    [lon + dx, lat - dy],
    [lon + dx, lat + dy],
    [lon - dx, lat + dy],
    [lon - dx, lat - dy],
  ];
}

/** Where a vehicle is, at a second of the hour: on an ellipse of its own, that leads through the yards. */
export function placeOf(n, second) {
  let s = second;
  if (`van-${n}` === rest.id) s = s < rest.from ? s : s < rest.to ? rest.from : s - (rest.to - rest.from);
  const angle = ((s / (1500 + 150 * n)) * 2 + n / 5) * 2 * Math.PI;
  return { lon: middle.lon + 0.02 * Math.cos(angle), lat: middle.lat + 0.0012 * n * Math.sin(angle) };
}

export const vehicles = [1, 2, 3, 4, 5];

/** Sends the hour that begins at a time, minute after minute. */
export async function sendHour(url, begin) {
  for (let minute = 0; minute < lastS / 60; minute++) {
    const batch = [];
    for (let s = minute * 60; s < (minute + 1) * 60; s += everyS) {
      for (const n of vehicles) {
        const id = `van-${n}`;
        if (id === silence.id && s > silence.from && s < silence.to) continue;
        batch.push({ id, ...placeOf(n, s), t: new Date(begin + s * 1000).toISOString() });
      }
    }
    const answer = await fetch(new URL("v1/positions", url), { method: "POST", body: JSON.stringify(batch) });
    const { accepted, rejected } = await answer.json();
    if (accepted !== batch.length) throw new Error(`${accepted} of ${batch.length} accepted: ${JSON.stringify(rejected.slice(0, 2))}`);
  }
}
