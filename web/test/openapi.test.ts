// The interfaces of src/api.ts, and of the pages' own files, against the schemas of the server's OpenAPI document: a property that the page reads must
// be one that the server describes, of the same type, and always there unless the page takes it as optional.

import { existsSync, readFileSync } from "node:fs";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { isKnownReason, kindChoices, kindColour, kindSign } from "../src/model/kinds";

interface Schema {
  $ref?: string;
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
}

const compared = [
  "SetInfo", "SetList", "Finding", "Membership", "Pending", "Policy", "SetPolicy", "ObjectState", "ObjectPage", "PointGeometry", "FenceEventData", "CountEventData", "NearEventData", "FenceEvent",
  "SampledObject", "SampledPage", "Tunnel", "TunnelFigures", "TunnelRefused", "TunnelOverload", "TunnelSession", "TunnelLine",
  "Cluster", "ClusterNode", "ClusterLog", "ClusterCounters",
  "Bus", "BusFigures", "BusPrefix", "BusSubject", "BusClosed", "BusConnection", "BusBridge", "Wire", "WireFigures", "WireConnection",
  "RunList", "Run", "RunSummary", "RunObjective",
  "Webhook", "WebhookState", "ShownWebhook", "Attempt", "Sink", "Key", "Change", "Door", "Rule", "RuleList", "ChangedRule", "DryRunResult", "SetSource",
];

/** Interfaces of the pages whose schemas have other names. */
const renamed = { ListedSet: "SetInfo", ListedSets: "SetList" };

const files = ["../src/api.ts", "../src/model/rules.ts", "../src/past/api.ts", ...["sets", "rules", "webhooks", "keys", "devices", "bus", "wire", "cluster", "runs"].map((page) => `../src/pages/${page}/api.ts`)];

const document = new URL("../../internal/platform/httpapi/openapi.json", import.meta.url);
const schemas = existsSync(document)
  ? (JSON.parse(readFileSync(document, "utf8")) as { components?: { schemas?: Record<string, Schema> } }).components?.schemas
  : undefined;

const sources = files.map((file) => ts.createSourceFile(file, readFileSync(new URL(file, import.meta.url), "utf8"), ts.ScriptTarget.ES2022, true));
const interfaces = new Map(sources.flatMap((source) => source.statements.filter(ts.isInterfaceDeclaration).map((node) => [node.name.text, node] as const)));

/** JSON's types that a schema allows. */
function jsonTypes(schema: Schema): string[] {
  if (schema.$ref !== undefined) return jsonTypes(schemas![schema.$ref.split("/").at(-1)!]!);
  const values = schema.const !== undefined ? [schema.const] : schema.enum;
  const types = values ? values.map((value) => typeof value) : [schema.type ?? "object"].flat();
  return [...new Set(types.map((type) => (type === "integer" ? "number" : type)))].sort();
}

/** JSON's types that a TypeScript type allows; a name stands for an object. */
function tsTypes(node: ts.TypeNode): string[] {
  if (ts.isUnionTypeNode(node)) return [...new Set(node.types.flatMap(tsTypes))].sort();
  if (ts.isArrayTypeNode(node) || ts.isTupleTypeNode(node)) return ["array"];
  if (ts.isLiteralTypeNode(node)) return node.literal.kind === ts.SyntaxKind.NullKeyword ? ["null"] : ["string"];
  if (node.kind === ts.SyntaxKind.StringKeyword) return ["string"];
  if (node.kind === ts.SyntaxKind.NumberKeyword) return ["number"];
  if (node.kind === ts.SyntaxKind.BooleanKeyword) return ["boolean"];
  // Properties may be null where a document in another form has them so.
  return ["object"];
}

/** What does not fit, one line each. */
function compare(path: string, members: ts.NodeArray<ts.TypeElement>, schema: Schema): string[] {
  const faults: string[] = [];
  for (const member of members.filter(ts.isPropertySignature)) {
    const name = member.name.getText();
    const here = `${path}.${name}`;
    const described = schema.properties?.[name];
    if (!described) {
      faults.push(`${here} is not described`);
      continue;
    }
    if (!member.questionToken && !schema.required?.includes(name)) faults.push(`${here} may be absent`);
    const [want, have] = [tsTypes(member.type!), jsonTypes(described)];
    const foreign = have.filter((type) => !want.includes(type));
    if (foreign.length > 0) faults.push(`${here} may be ${foreign.join(" or ")}, not only ${want.join(" or ")}`);
    if (ts.isTypeLiteralNode(member.type!)) faults.push(...compare(here, member.type.members, described));
  }
  return faults;
}

/** The values that the document allows for a property, which a newer server may have more of. */
function values(schema: string, property: string): string[] {
  return schemas![schema]!.properties![property]!.enum as string[];
}

describe.skipIf(schemas === undefined)("src/api.ts and the OpenAPI document", () => {
  it("know the same kinds of event, each with a button of the filter", () => {
    const kinds = values("FenceEvent", "type").map((type) => type.split(".").at(-1)!);
    expect(kindChoices.flatMap((choice) => choice.kinds).toSorted()).toEqual(kinds.toSorted());
    expect(kinds.filter((kind) => kindColour(kind) === null || kindSign(kind) === "other")).toEqual([]);
  });

  it("know the same reasons", () => {
    expect(values("FenceEventData", "reason").filter((reason) => !isKnownReason(reason))).toEqual([]);
  });

  it.each([...compared.map((name) => [name, name] as const), ...Object.entries(renamed)])("agree on %s", (name, described) => {
    const node = interfaces.get(name);
    const schema = schemas![described];
    expect(node, `no interface ${name}`).toBeDefined();
    expect(schema, `no schema ${name}`).toBeDefined();
    expect(compare(name, node!.members, schema!)).toEqual([]);
  });
});
