// Backoff: how long to wait before each attempt to reconnect. Doubles from 0.5 s to 15 s; half of each wait is random,
// so that many pages do not come back to a restarted server at the same instant.

const firstMs = 500;
const longestMs = 15_000;

export function backoffMs(attempt: number, random: () => number = Math.random): number {
  const ceiling = Math.min(longestMs, firstMs * 2 ** Math.min(attempt, 10));
  return ceiling / 2 + (ceiling / 2) * random();
}
