// Runs one change for many media: some requests at once, with progress, until it ends or is stopped.

import { RequestError } from "../../../api/client.js";
import type { Media } from "../../../api/media-types.js";

/** Requests at once. */
const AT_ONCE = 6;
/** Waits of one step for a server that is busy or limits the rate. */
const WAITS_MAX = 5;
/** The wait where the server names none. */
const WAIT_S = 1;

/** One request, or some that belong together, for these media. */
export interface Step {
  media: Media[];
  run: () => Promise<unknown>;
}

export interface Failed {
  media: Media;
  /** `null`: a defect of the page, not a response. */
  error: RequestError | null;
}

export interface RunState {
  total: number;
  done: Media[];
  failed: Failed[];
  isRunning: boolean;
}

/** Starts the steps. Returns a function that stops them: requests in flight finish, no other is sent. */
export function startRun(steps: Step[], onChange: (state: RunState) => void): () => void {
  const waiting = [...steps];
  const end = new AbortController();
  let state: RunState = { total: steps.reduce((sum, { media }) => sum + media.length, 0), done: [], failed: [], isRunning: true };
  const change = (next: Partial<RunState>) => onChange((state = { ...state, ...next }));

  const work = async () => {
    for (let step = waiting.shift(); step !== undefined && !end.signal.aborted; step = waiting.shift()) {
      const result = await attempt(step, end.signal);
      if (result === "done") change({ done: [...state.done, ...step.media] });
      else change({ failed: [...state.failed, ...step.media.map((media) => ({ media, error: result.error }))] });
    }
  };
  void Promise.all(Array.from({ length: AT_ONCE }, work)).then(() => change({ isRunning: false }));
  return () => end.abort();
}

/** Runs a step. Waits as long as the server names. Never rejects: the other steps go on. */
async function attempt(step: Step, signal: AbortSignal): Promise<"done" | Pick<Failed, "error">> {
  for (let waits = 0; ; waits += 1) {
    try {
      await step.run();
      return "done";
    } catch (error) {
      if (!(error instanceof RequestError)) return { error: null };
      const mayWait = (error.status === 429 || error.status === 503) && waits < WAITS_MAX && !signal.aborted;
      if (!mayWait) return { error };
      await wait((error.retryAfterS ?? WAIT_S) * 1000, signal);
    }
  }
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
