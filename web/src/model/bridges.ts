// Bridges of the bus to other servers, in words. Pure.

import { formatCount, formatDuration } from "../format";
import type { BusBridge } from "../pages/bus/api";

/** "connected for 3 min", or why there is no connection. */
export function bridgeState({ connected, age_ms, error }: Pick<BusBridge, "connected" | "age_ms" | "error">): string {
  return connected ? `connected for ${formatDuration(age_ms)}` : (error ?? "connects");
}

/** Messages that were dropped. Without a fault it is 0: a loop that ends is none. */
export function droppedMessages({ dropped_in, dropped_out }: Pick<BusBridge, "dropped_in" | "dropped_out">): number {
  let sum = 0;
  for (const [reason, n] of [...Object.entries(dropped_in), ...Object.entries(dropped_out)]) if (reason !== "loop") sum += n;
  return sum;
}

/** A line for each direction and reason. */
export function droppedText({ dropped_in, dropped_out }: Pick<BusBridge, "dropped_in" | "dropped_out">): string {
  const lines = (way: string, by: Record<string, number>): string[] => Object.entries(by).map(([reason, n]) => `${way}, ${reason}: ${formatCount(n)}`);
  return [...lines("in", dropped_in), ...lines("out", dropped_out)].join("\n");
}
