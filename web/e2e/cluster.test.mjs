// The page of a cluster, at real nodes with real servers.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { accessibilityFindings, desk, launch, openPage, phone, screenshot } from "./browser.mjs";
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

  const row = (page, name) => page.locator("tbody tr").filter({ has: page.getByRole("rowheader", { name, exact: true }) });

  async function look(page, name) {
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await screenshot(page, `page-${name}-${colorScheme}`);
      assert.deepEqual(await accessibilityFindings(page), [], `${name} ${colorScheme}`);
    }
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize(phone.viewport);
    await screenshot(page, `page-${name}-phone`);
    assert.deepEqual(await accessibilityFindings(page), [], `${name} phone`);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth), 0, "the page is wider than a phone");
    await page.setViewportSize(desk.viewport);
  }

  it("shows nodes and servers, and tells of those that are lost", async () => {
    const [leader, follower] = await stand.ranked();
    const { page, seen, close } = await openPage(browser, new URL("cluster", follower.url).href);
    try {
      await page.getByText(`${leader.name} leads, 1 other node follows.`).waitFor();
      await page.getByText("All 3 servers have the log.").waitFor();
      await row(page, leader.name).getByText("leader", { exact: true }).waitFor();
      await row(page, follower.name).getByText("follower", { exact: true }).waitFor();
      assert.equal(await page.getByRole("region", { name: "Servers of the log" }).locator("tbody tr").count(), 3);
      await look(page, "cluster");

      await stand.killServer(2);
      await leader.kill();
      await page.getByText(`${follower.name} leads. ${leader.name} is silent.`).waitFor();
      await page.getByText("2 of 3 servers have the log.").waitFor();
      await row(page, "nats-3").getByText("offline", { exact: true }).waitFor();
      await row(page, leader.name).getByText("silent since").waitFor();
      await look(page, "cluster-lost");
      assert.deepEqual(seen.errors, []);
      assert.deepEqual(seen.requests.filter((url) => new URL(url).host !== new URL(follower.url).host), []);
    } finally {
      await close();
    }
  });
});
