// Why an upload stopped: from the response, from the status of the upload, and from the file.

import { type Problem, type Refusal, UNREADABLE, endOf, problemOf } from "./problem.js";
import { ask } from "./status.js";

/** What is known after an upload has stopped. */
export interface Diagnosis {
  /** Why it cannot go on with this file. */
  end?: Problem;
  /** Whether the server has the whole file. */
  isComplete: boolean;
  /** Whether the server knows the length of the file. */
  knowsLength: boolean;
  /** Whether the server's offset differs from that of the page. */
  isBehind: boolean;
  /** The problem of the response; a retry may help. */
  problem: Problem;
}

/** Asks for the status where the response may be about the upload itself. `next` as for `problemOf`. */
export async function diagnose(address: string, file: File, refusal: Refusal | null, next?: string): Promise<Diagnosis> {
  if (refusal === null || (refusal.status === 0 && !(await isReadable(file)))) {
    return { end: UNREADABLE, isComplete: false, knowsLength: false, isBehind: false, problem: UNREADABLE };
  }
  const problem = problemOf(refusal, next);
  const found = { isComplete: false, knowsLength: false, isBehind: refusal.status === 409 && refusal.isBehind, problem };
  // Only a reachable server can report the status of the upload.
  if (refusal.status < 400 || refusal.status >= 500) return found;
  const answer = await ask(address);
  if ("status" in answer) {
    const end = endOf(answer.status, next);
    if (end !== null) return { ...found, end };
    const isComplete = answer.status.status === "completed";
    return { ...found, isComplete, knowsLength: answer.status.sizeBytes !== undefined };
  }
  if (answer.refusal.status === 404 || answer.refusal.status === 410) return { ...found, end: problemOf(answer.refusal, next) };
  return found;
}

/** A file that was changed or moved fails with the same error as a lost connection. */
async function isReadable(file: File): Promise<boolean> {
  try {
    await file.slice(0, 1).arrayBuffer();
    return true;
  } catch {
    return false;
  }
}
