// The runs of the lab, as the server lists them.

import { apiURL } from "../../api";
import { get, part } from "../../frame/request";

export interface RunList {
  runs: Run[];
  /** How many there are; the list has the newest. */
  runs_all: number;
  /** False: the directory has too many entries to look at all of them. */
  complete: boolean;
  directory: string;
}

export interface Run {
  name: string;
  modified: string;
  report: boolean;
  /** Why there is no summary. */
  error?: string;
  summary?: RunSummary;
}

/** Null is unknown; times that end in _ns are in nanoseconds. */
export interface RunSummary {
  began: string;
  command: string;
  version: string;
  revision: string | null;
  cpu_model: string | null;
  cpus: number;
  driver: string;
  target: string;
  model: string;
  arrivals: string | null;
  conns: number;
  interrupted: boolean;
  good: number;
  rate: number | null;
  p50_ns: number | null;
  p99_ns: number | null;
  max_ns: number | null;
  errors: number | null;
  generator_cpu_ns: number | null;
  verdict: string;
  verdict_text: string;
  objectives: RunObjective[];
}

export interface RunObjective {
  objective: string;
  outcome: string;
  text: string;
}

export const fetchRuns = (signal: AbortSignal): Promise<RunList> => get("v1/runs", {}, signal);

/** The address of a run's report, a page of its own. */
export const reportURL = (name: string): string => apiURL(`v1/runs/${part(name)}/report`);
