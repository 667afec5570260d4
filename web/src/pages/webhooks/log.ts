// The last attempts of a delivery, and its dead letters with the buttons that send them again.

import { h, setText } from "../../dom";
import { announce } from "../../frame/dialog";
import { attempt as attemptOf, operations } from "../../frame/form";
import { explain } from "../../frame/request";
import { formatClock, formatCount, formatInstant, formatLatency } from "../../format";
import { outcomeText } from "../../model/webhooks";
import { section } from "../../ui/parts";
import { Table } from "../../ui/table";
import { fetchAttempts, fetchLetters, replayLetter, type Attempt, type DeadLetter } from "./api";

export class Log {
  readonly parts: HTMLElement[];
  readonly #path: string;
  readonly #webhook: string;
  readonly #marked: string;
  readonly #attempts: Table<Attempt>;
  readonly #letters: Table<DeadLetter>;
  readonly #attemptNote = h("p", { class: "note" }, "Loading…");
  readonly #letterPart = section("Dead letters");
  readonly #outcome = h("p", { class: "outcome", role: "alert", hidden: true });
  #dead: DeadLetter[] = [];
  #reading: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;
  #over = false;

  /** The log of the delivery at a path. A sink has no webhook, and no list of dead letters. */
  constructor(path: string, webhook: string, marked: string) {
    this.#path = path;
    this.#webhook = webhook;
    this.#marked = marked;
    this.#attempts = new Table<Attempt>(
      "Last attempts",
      [
        { name: "When", text: ({ at }) => formatClock(Date.parse(at)), hint: ({ at }) => formatInstant(Date.parse(at)) },
        { name: "Outcome", text: outcomeText, hint: ({ reason }) => reason ?? "", state: ({ outcome }) => (outcome === "delivered" ? "" : "refused") },
        { name: "Events", number: true, text: ({ events }) => formatCount(events) },
        { name: "Took", number: true, text: ({ took_ms }) => (took_ms < 1 ? "< 1 ms" : formatLatency(took_ms)) },
        { name: "Reason", text: ({ reason }) => reason ?? "", hint: ({ reason }) => reason ?? "" },
      ],
      ({ at, outcome, events }) => `${at} ${outcome} ${events}`,
    );
    this.#letters = new Table<DeadLetter>(
      "Dead letters",
      [
        { name: "Event", text: ({ event }) => event, hint: ({ event, at }) => `${event}, ${formatInstant(Date.parse(at))}` },
        { name: "Answer", text: ({ status, reason }) => (status === undefined ? (reason ?? "") : String(status)), hint: ({ reason }) => reason ?? "" },
        { name: "Attempts", number: true, text: ({ attempts }) => formatCount(attempts) },
        { name: "Again", element: (letter) => this.#again(letter) },
      ],
      ({ cursor }) => cursor,
    );
    const attempts = section("Last attempts");
    attempts.content.append(this.#attempts.element, this.#attemptNote);
    const all = operations(["Send all again", () => this.#sendAll()]);
    this.#letterPart.content.append(this.#letters.element, this.#outcome, all);
    this.#letterPart.element.hidden = true;
    this.parts = [attempts.element, this.#letterPart.element];
  }

  /** Reads both lists after the read that is under way, so that an older answer never replaces a newer one. */
  load(): Promise<void> {
    this.#next ??= this.#reading.then(() => {
      this.#reading = this.#next ?? this.#reading;
      this.#next = undefined;
      return this.#over ? undefined : this.#read();
    });
    return this.#next;
  }

  /** Runs an action between two reads. It deletes what is read here, so that no read follows its success. */
  async end(action: () => Promise<void>): Promise<void> {
    this.#over = true;
    await (this.#next ?? this.#reading);
    try {
      await action();
    } catch (error) {
      this.#over = false;
      throw error;
    }
  }

  async #read(): Promise<void> {
    try {
      const attempts = await fetchAttempts(this.#path);
      this.#attempts.show(attempts);
      const marked = attempts.find(({ at }) => at === this.#marked);
      if (marked) this.#attempts.mark(`${marked.at} ${marked.outcome} ${marked.events}`);
      setText(this.#attemptNote, attempts.length === 0 ? "None since the server was started." : "");
    } catch (error) {
      setText(this.#attemptNote, explain(error));
    }
    this.#attemptNote.hidden = this.#attemptNote.textContent === "";
    if (this.#webhook === "") return;
    try {
      this.#dead = await fetchLetters(this.#webhook);
    } catch {
      return; // the list of attempts tells why
    }
    this.#letters.show(this.#dead);
    this.#letterPart.element.hidden = this.#dead.length === 0;
  }

  #again(letter: DeadLetter): HTMLElement {
    const send = async (): Promise<void> => {
      await replayLetter(this.#webhook, letter.cursor);
      announce(`${letter.event} is sent again.`);
      await this.load();
    };
    const button: HTMLButtonElement = h("button", { type: "button", class: "copy", "aria-label": `Send ${letter.event} again`, onclick: () => void attemptOf(button, this.#outcome, send) }, "Send");
    return button;
  }

  async #sendAll(): Promise<void> {
    for (const { cursor } of this.#dead) await replayLetter(this.#webhook, cursor);
    announce("All dead letters are sent again.");
    await this.load();
  }
}
