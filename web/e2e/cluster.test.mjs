// The page of a cluster, at real nodes with real servers.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { launch, lookInAllWidths, openPage, rowOf } from "./browser.mjs";
import { hasServer, natsServer, startCluster } from "./cluster.mjs";

describe("the page of the cluster", { skip: hasServer ? false : `no ${natsServer}` }, () => {
  let browser, stand;
  before(async () => {
    stand = await startCluster();
    browser = await launch();
  });
  after(async () => {
    await browser?.close();
    await stand?.stop();
  });

  it("shows nodes and servers, and tells of those that are lost", async () => {
    const [leader, follower] = await stand.ranked();
    const { page, seen, close } = await openPage(browser, new URL("cluster", follower.url).href);
    try {
      await page.getByText(`${leader.name} leads, 1 other node follows.`).waitFor();
      await page.getByText("All 3 servers have the log.").waitFor();
      await rowOf(page, leader.name).getByText("leader", { exact: true }).waitFor();
      await rowOf(page, follower.name).getByText("follower", { exact: true }).waitFor();
      assert.equal(await page.getByRole("region", { name: "Servers of the log" }).locator("tbody tr").count(), 3);
      await lookInAllWidths(page, "cluster");

      await stand.killServer(2);
      await leader.kill();
      await page.getByText(`${follower.name} leads. ${leader.name} is silent.`).waitFor();
      await page.getByText("2 of 3 servers have the log.").waitFor();
      await rowOf(page, "nats-3").getByText("offline", { exact: true }).waitFor();
      await rowOf(page, leader.name).getByText("silent since").waitFor();
      await lookInAllWidths(page, "cluster-lost");
      assert.deepEqual(seen.errors, []);
      assert.deepEqual(seen.requests.filter((url) => new URL(url).host !== new URL(follower.url).host), []);
    } finally {
      await close();
    }
  });
});
