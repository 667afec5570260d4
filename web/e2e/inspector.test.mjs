// The inspector of a tunnel's client in a real browser: what visitors have asked, and what was answered.

import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import { after, before, describe, it } from "node:test";
import { accessibilityFindings, desk, launch, openPage, phone, screenshot } from "./browser.mjs";
import { startTunnel } from "./tunnel.mjs";

const markup = '<img src=x onerror="document.title=1"><b>bold</b>';
const host = "bus-17.example";
let tunnel;
let client;
let browser;
let service;
const asked = [];

before(async () => {
  service = http.createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    asked.push(`${request.method} ${request.url} ${body}`);
    if (request.url === "/json") {
      response.writeHead(200, { "content-type": "application/json" });
      response.end('{"id":12345678901234567890,"a":[1,{"b":"{,\\"}"}],"c":{},"d":[]}');
      return;
    }
    response.writeHead(request.url === "/broken" ? 500 : 200, { "content-type": "text/html", "x-note": markup, "set-cookie": "id=of-nobody-else" });
    response.end(`<p>${markup}</p>`);
  });
  service.listen(0, "127.0.0.1");
  await once(service, "listening");
  tunnel = await startTunnel();
  client = await tunnel.client("bus-17", [[host, `127.0.0.1:${service.address().port}`]], ', inspect: "127.0.0.1:0"');
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await client?.stop();
  await tunnel?.stop();
  service?.closeAllConnections();
  service?.close();
});

describe("the inspector", () => {
  it("shows exchanges as they come, hides secrets, takes nothing for markup, and sends again", async () => {
    const url = client.said(/inspect: (http:\S+)/);
    for (const [name, options] of Object.entries({ desk, phone })) {
      const { page, seen, close } = await openPage(browser, url, options);
      try {
        const rows = page.locator("#list tr");
        const detail = page.getByRole("region", { name: "The chosen request" });
        if (name === "desk") {
          await page.getByText("No request has come yet.").waitFor();
          assert.equal(await tunnel.visit(host, "/greet?who=%3Cb%3E", { method: "POST", body: markup, headers: { authorization: "Basic b2Y6bm9ib2R5" } }), 200);
          assert.equal(await tunnel.visit(host, "/broken"), 500);
        }
        await page.getByRole("button", { name: "/broken" }).first().waitFor();
        await page.locator("#list tr.bad", { hasText: "500" }).first().waitFor();

        await page.getByRole("button", { name: "POST" }).last().click();
        await detail.getByRole("heading", { name: `POST ${host}/greet?who=%3Cb%3E` }).waitFor();
        const text = await detail.textContent();
        assert.ok(text.includes(markup) && text.includes(`<p>${markup}</p>`) && text.includes(`X-Note: ${markup}`.toLowerCase()), text);
        assert.ok(!text.includes("b2Y6bm9ib2R5") && !text.includes("of-nobody-else") && text.includes("masked"), text);
        assert.equal(await page.locator("main img, main b").count(), 0);
        for (const colorScheme of ["light", "dark"]) {
          await page.emulateMedia({ colorScheme });
          await screenshot(page, `inspector-${name}-${colorScheme}`);
          assert.deepEqual(await accessibilityFindings(page), [], `${name} ${colorScheme}`);
        }

        assert.equal(await tunnel.visit(host, "/json"), 200);
        await page.locator("#list tr", { hasText: "/json" }).first().locator("td").first().click();
        await detail.getByRole("heading", { name: `GET ${host}/json` }).waitFor();
        assert.equal(
          await detail.locator("pre").last().textContent(),
          '{\n  "id": 12345678901234567890,\n  "a": [\n    1,\n    {\n      "b": "{,\\"}"\n    }\n  ],\n  "c": {},\n  "d": []\n}',
        );
        await page.getByRole("button", { name: "POST" }).last().click();
        await detail.getByRole("heading", { name: `POST ${host}/greet` }).waitFor();

        const before = { asked: asked.length, rows: await rows.count() };
        await detail.getByRole("button", { name: "Send again" }).click();
        await detail.getByText("Sent; what came of it is in the list.").waitFor();
        await rows.nth(before.rows).waitFor();
        await rows.filter({ hasText: "again" }).first().waitFor();
        assert.deepEqual(asked.slice(before.asked), [`POST /greet?who=%3Cb%3E ${markup}`]);

        assert.equal(await page.title(), "Paddock tunnel: requests");
        assert.deepEqual(seen.requests.filter((asked) => !asked.startsWith(url) && !asked.startsWith("data:")), []);
        assert.deepEqual(seen.errors, []);
      } finally {
        await close();
      }
    }
  });

  it("says that the client is away, and keeps what it has shown", async () => {
    const { page, close } = await openPage(browser, client.said(/inspect: (http:\S+)/));
    try {
      await page.locator("#list tr").first().waitFor();
      await client.stop();
      client = undefined;
      await page.getByRole("status").getByText("The tunnel's client is away.").waitFor();
      assert.ok((await page.locator("#list tr").count()) > 0);
    } finally {
      await close();
    }
  });
});
