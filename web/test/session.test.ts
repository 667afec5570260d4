// The end of a session: the first refusal ends all that asks on its own, whichever request it is of.

import { expect, it, vi } from "vitest";

vi.stubGlobal("document", { baseURI: "http://localhost/" });
vi.stubGlobal("window", globalThis);
vi.stubGlobal("WebSocket", class { close(): void { /* there is no other end */ } });
const { Connection } = await import("../src/live/connection");
const { everyMs, Poll } = await import("../src/live/poll");
const { request, sessionOver } = await import("../src/request");

it("is known from the first refusal, after which nothing is asked", async () => {
  vi.useFakeTimers();
  const asked: string[] = [];
  let status = 200;
  vi.stubGlobal("fetch", (url: string) => {
    asked.push(url);
    return Promise.resolve(Response.json({ detail: "no" }, { status }));
  });
  const poll = new Poll(() => undefined, (signal) => request("list", signal));
  const connection = new Connection({ message: () => undefined, frame: () => undefined });
  sessionOver.watch(() => connection.end());
  connection.open();
  poll.now();
  await vi.advanceTimersByTimeAsync(everyMs / 2);
  status = 403;
  await expect(request("change")).rejects.toMatchObject({ status: 403 });
  expect([poll.link.value.state, sessionOver.value]).toEqual(["live", false]);

  status = 401;
  await expect(request("change")).rejects.toMatchObject({ status: 401 });
  expect([poll.link.value.state, connection.link.value.state]).toEqual(["ended", "ended"]);
  await expect(request("change")).rejects.toMatchObject({ status: 401 });
  await vi.advanceTimersByTimeAsync(60_000);
  poll.now();
  expect(asked).toEqual(["list", "change", "change"]);
  vi.useRealTimers();
});
