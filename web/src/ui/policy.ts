// The policy of a set in plain words: in the list of sets behind a button, and in a fence's details.

import { fetchPolicy } from "../api";
import { fill, h } from "../dom";
import { policySentences } from "../model/policy";
import { failure } from "./parts";

/** Fills the target with the policy of a set as it is now; until that is known it keeps its content. */
export async function showPolicy(target: HTMLElement, set: string, signal?: AbortSignal): Promise<void> {
  let content: HTMLElement;
  try {
    const sentences = policySentences(await fetchPolicy(set, signal));
    content = h("ul", { class: "policy" }, ...sentences.map((sentence) => h("li", {}, sentence)));
  } catch (error) {
    if (signal?.aborted) return;
    content = failure(error);
  }
  if (target.textContent !== content.textContent) fill(target, content);
}
