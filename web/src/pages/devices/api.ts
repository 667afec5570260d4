// The doors of the server: what came through each, the last rejections, and the state of sources.

import { get, send } from "../../frame/request";

export interface Door {
  /** http, bus, wire, osmand, traccar, owntracks, or the name of a source. */
  name: string;
  accepted: number;
  /** Not newer than the object's last position. */
  late: number;
  /** Too far from the position before. */
  outliers: number;
  /** Messages that are no positions. */
  ignored: number;
  rejected: number;
  /** Rejections by kind. */
  reasons: Record<string, number>;
  /** The last rejections, the newest first. */
  last: DoorRejection[];
  /** State of the connection, if the server made it. */
  source?: SourceState;
}

/** The connection of a source. Counts are since the start. */
export interface SourceState {
  address: string;
  connected: boolean;
  connects: number;
  messages: number;
  dropped: number;
  failures: number;
  error?: string;
}

export interface DoorRejection {
  t: string;
  object?: string;
  field?: string;
  reason: string;
  /** Its first 256 bytes, or hex: and 64 bytes if it is not text. */
  input?: string;
}

export const fetchDoors = async (signal?: AbortSignal): Promise<Door[]> => (await get<{ doors: Door[] }>("v1/doors", {}, signal)).doors;

/** The rows of a QR code: 1 is black. */
export const makeQR = async (text: string): Promise<string[]> => (await send<{ rows: string[] }>("v1/qr", { method: "POST", body: { text } })).rows;
