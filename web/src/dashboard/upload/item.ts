// A file of the queue, and the states that it passes. Pure: no request, no clock, no storage.

import type { Problem } from "../../upload/problem.js";
import type { AccessPolicy, MaxResolution } from "../api/media-types.js";

/**
 * The states of an upload.
 *
 * `waiting` for its turn, or for its file after a reload. `active`: the tab that sends works on it. `held`:
 * the server is away or busy, and the upload resumes by itself. `preparing`: the server has the whole file.
 */
export type Phase = "waiting" | "active" | "held" | "paused" | "preparing" | "ready" | "failed";

/** What the person chose for the media. */
export interface UploadSettings {
  title: string;
  accessPolicy: AccessPolicy;
  maxResolution: MaxResolution;
  metadata: Record<string, string>;
}

/** The part of an upload that changes. */
export interface State {
  phase: Phase;
  /** Why it is held or has failed. */
  problem: Problem | null;
  /** The id of the upload, which is that of its media; `null` until the server has created it. */
  uploadId: string | null;
  /** The idempotency key of the creation: a repeated request creates nothing twice. */
  creationKey: string;
  /** Attempts since the last byte was sent. */
  tries: number;
}

/** A file of the queue, as the browser stores it. The signed URL is a secret and no part of it. */
export interface Item extends State {
  id: string;
  personId: string;
  workspaceId: string;
  /** Position in the queue; lower ones come first. */
  order: number;
  name: string;
  size: number;
  /** A hash of both ends of the file. */
  ends: string;
  /** Opens the file again after a reload, in Chromium. */
  handle: FileSystemFileHandle | null;
  settings: UploadSettings;
  /** Milliseconds since the epoch. */
  addedAt: number;
}

export type Event =
  | { type: "begin" }
  | { type: "created"; uploadId: string }
  | { type: "moved" }
  | { type: "hold"; problem: Problem }
  | { type: "fail"; problem: Problem }
  | { type: "pause" }
  | { type: "resume" }
  /** Sends the file again, to another upload. */
  | { type: "restart"; creationKey: string }
  /** No tab sends it: the one that did has ended. */
  | { type: "abandoned" }
  | { type: "complete" }
  | { type: "ready" };

/** The state after an event. An event that the phase does not allow changes nothing. */
export function next<S extends State>(state: S, event: Event): S {
  const { phase } = state;
  const isOpen = phase === "waiting" || phase === "active" || phase === "held" || phase === "paused";
  switch (event.type) {
    case "begin":
      return phase === "waiting" || phase === "held" ? { ...state, phase: "active" } : state;
    case "created":
      return state.uploadId === null ? { ...state, uploadId: event.uploadId } : state;
    case "moved":
      return phase === "active" && (state.tries > 0 || state.problem !== null) ? { ...state, tries: 0, problem: null } : state;
    case "hold":
      return phase === "active" ? { ...state, phase: "held", problem: event.problem, tries: state.tries + 1 } : state;
    case "fail":
      return isOpen || phase === "preparing" ? { ...state, phase: "failed", problem: event.problem } : state;
    case "pause":
      return phase !== "paused" && isOpen ? { ...state, phase: "paused", problem: null, tries: 0 } : state;
    case "resume":
      return phase === "paused" || (phase === "failed" && mayRetry(state)) ? { ...state, phase: "waiting", problem: null, tries: 0 } : state;
    case "restart":
      return phase === "failed" ? { ...state, phase: "waiting", problem: null, tries: 0, uploadId: null, creationKey: event.creationKey } : state;
    case "abandoned":
      return phase === "active" || phase === "held" ? { ...state, phase: "waiting", problem: null, tries: 0 } : state;
    case "complete":
      return isOpen || phase === "failed" ? { ...state, phase: "preparing", problem: null } : state;
    case "ready":
      return phase === "preparing" ? { ...state, phase: "ready" } : state;
  }
}

/** Whether this upload can go on where it stopped. Others can only begin again. */
export function mayRetry({ problem }: Pick<State, "problem">): boolean {
  return problem !== null && problem.retry !== "never";
}

/** Whether the file can be sent again, to another upload. */
export function mayRestart(item: Pick<Item, "problem" | "size">): boolean {
  return !mayRetry(item) && item.size > 0 && item.problem?.isFileAtFault !== true;
}

/** Whether the server does not have the whole file yet. */
export function isUnfinished({ phase }: Pick<State, "phase">): boolean {
  return phase !== "preparing" && phase !== "ready";
}

/** Whether the tab that sends works on it. */
export function isRunning({ phase }: Pick<State, "phase">): boolean {
  return phase === "active" || phase === "held";
}

/** Uploads that begin now: at most `atOnce` run, in the order of the queue. */
export function toBegin(items: Item[], atOnce: number, hasFile: (item: Item) => boolean): Item[] {
  const running = items.filter(isRunning).length;
  const ready = items.filter((item) => item.phase === "waiting" && hasFile(item));
  return ready.sort((one, other) => one.order - other.order).slice(0, Math.max(atOnce - running, 0));
}

/** The title of a media by default: the name of the file without its ending. */
export function titleOf(name: string): string {
  const base = name.replace(/(?<=.)\.[^.]{1,8}$/u, "");
  return Array.from(base).slice(0, TITLE_MAX).join("");
}

/** Characters of a title. */
export const TITLE_MAX = 255;
