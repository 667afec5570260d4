// The rules of the server.

import { get, getTagged, part, send, type Tagged } from "../../frame/request";
import type { Rule } from "../../model/rules";

export interface RuleList {
  rules: Rule[];
  /** By id: the file that holds the rule. */
  files?: Record<string, string>;
  next?: string;
}

/** A rule after a change, and what it refers to and is not there. */
export interface ChangedRule {
  rule: Rule;
  warnings?: string[];
}

export interface DryRunResult {
  positions: number;
  accepted: number;
  late: number;
  outliers: number;
  events: { type: string; time: string; data: { fence?: { id: string } | null; object?: { id: string } | null; rule?: string } }[];
  truncated?: boolean;
}

export const fetchRules = (signal?: AbortSignal): Promise<RuleList> => get("v1/rules", { limit: 10_000 }, signal);

export const fetchRule = (id: string): Promise<Tagged<Rule>> => getTagged(`v1/rules/${part(id)}`);

/** Adds or replaces a rule. The tag is that of the state that it replaces, or "new". */
export const putRule = (id: string, rule: Rule, tag: string): Promise<ChangedRule> => send(`v1/rules/${part(id)}`, { method: "PUT", body: rule, tag });

export const patchRule = (id: string, change: object, tag: string): Promise<ChangedRule> =>
  send(`v1/rules/${part(id)}`, { method: "PATCH", body: change, type: "application/merge-patch+json", tag });

export const deleteRule = (id: string, tag: string): Promise<void> => send(`v1/rules/${part(id)}`, { method: "DELETE", tag });

/** What a rule would have told of an object's past. */
export const dryRun = (rule: Rule, history: { object: string; fleet?: string; from: string; to: string }): Promise<DryRunResult> =>
  send("v1/rules/dry-run", { method: "POST", body: { rules: [rule], history } });
