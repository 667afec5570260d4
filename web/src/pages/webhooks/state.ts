// The state of a delivery, as rows of names and values.

import { h } from "../../dom";
import { formatCount, plural } from "../../format";
import { stateWord } from "../../model/webhooks";
import type { Pair } from "../../ui/parts";
import { ago, clockTime } from "../../ui/time";
import type { WebhookState } from "./api";

export function stateRows(state: WebhookState): Pair[] {
  const { word, colour } = stateWord(state);
  const rows: Pair[] = [["State", h("strong", { class: `state-word ${colour}` }, word)]];
  if (state.reason !== undefined) rows.push(["Why", state.reason]);
  if (state.disabled_at !== undefined) rows.push(["Disabled", ago(state.disabled_at)]);
  if (state.failing_since !== undefined && state.failures > 0) rows.push(["Failing since", clockTime(state.failing_since)]);
  if (state.failures > 0) rows.push(["Failures", `${formatCount(state.failures)} in a row`]);
  if (state.next_attempt !== undefined) rows.push(["Next attempt", clockTime(state.next_attempt)]);
  rows.push(["Behind", plural(state.lag, "event")], ["Delivered", plural(state.delivered, "event")]);
  if (state.missed > 0) rows.push(["Missed", `${plural(state.missed, "event")}, removed before they were delivered`]);
  if (state.dead_letters > 0) rows.push(["Dead letters", formatCount(state.dead_letters)]);
  if (state.replay) rows.push(["Sends again", `events behind ${state.replay.after}`]);
  if (state.replay_letters !== undefined && state.replay_letters > 0) rows.push(["Sends again", plural(state.replay_letters, "dead letter")]);
  return rows;
}
