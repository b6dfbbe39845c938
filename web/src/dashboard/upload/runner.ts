// Sends one upload: creates it, or finds the one that was begun, and sends from the server's offset.

import { diagnose } from "../../upload/diagnosis.js";
import { type Problem, NO_ANSWER, endOf, problemOf, type Refusal } from "../../upload/problem.js";
import { Pace } from "../../upload/pace.js";
import type { Sending } from "../../upload/sending.js";
import { ask } from "../../upload/status.js";
import { cancelUpload, createUpload, findUploadUrl, readUploadedMedia, refusalOf } from "../api/uploads.js";
import { uploadsText } from "../text/uploads.js";
import type { Event, Item } from "./item.js";
import type { Progress } from "./tabs.js";

/** What happens to an upload. */
export interface Listener {
  onEvent(event: Event): void;
  onProgress(progress: Progress): void;
}

/** An upload that is being sent. */
export interface Run {
  /** Stops it; the listener hears no more. A cancelled one is cancelled on the server too. */
  stop(isCancelled?: boolean): void;
}

/** Signed URLs by upload. They are secrets, so they live in this page only. */
const urls = new Map<string, string>();

/** Sends `file`. The listener hears `begin` at once, and at last `complete`, `hold` or `fail`. */
export function run(item: Item, file: File, listener: Listener): Run {
  let isStopped = false;
  let isCancelled = false;
  let sending: Sending | null = null;
  let hasCorrectedOffset = false;
  const emit = (event: Event) => {
    if (!isStopped) listener.onEvent(event);
  };
  const end = (found: Problem) => {
    const problem = found.failure === undefined ? found : uploadsText.mediaFailed(found.failure);
    emit(problem.retry === "by-itself" ? { type: "hold", problem } : { type: "fail", problem });
  };
  const refused = (refusal: Refusal) => end(inContext(problemOf(refusal, uploadsText.startAgain), refusal));

  void (async () => {
    emit({ type: "begin" });
    try {
      const found = await locate(item, emit, () => isCancelled);
      if (found === null || isStopped) return;
      await begin(found);
    } catch (error) {
      refused(refusalOf(error));
    }
  })();

  async function begin(url: string): Promise<void> {
    const answer = await ask(url);
    if (isStopped) return;
    if ("refusal" in answer) return refused(answer.refusal);
    const { status } = answer;
    const over = endOf(status, uploadsText.startAgain);
    if (over !== null) return end(over);
    if (status.status === "completed") return emit({ type: "complete" });
    if (status.sizeBytes !== undefined && status.sizeBytes !== file.size) return end(uploadsText.otherSize(status.sizeBytes, file.size));
    const { send } = await import("../../upload/sending.js").catch(() => ({ send: null }));
    if (send === null) return refused(NO_ANSWER); // the chunk could not be loaded
    if (!isStopped) start(url, send, status.sizeBytes !== undefined);
  }

  function start(url: string, send: typeof import("../../upload/sending.js").send, knowsLength: boolean): void {
    const pace = new Pace();
    let from: number | null = null;
    let isLengthKnown = knowsLength;
    sending = send(url, file, knowsLength, {
      onBegin: () => (isLengthKnown = true),
      onProgress(bytes) {
        if (isStopped) return;
        from ??= bytes; // the server's offset, reported before the first byte is sent
        pace.note(bytes, performance.now());
        listener.onProgress({ bytes, perSecond: pace.perSecond() });
        if (bytes !== from) emit({ type: "moved" });
      },
      onSuccess: () => emit({ type: "complete" }),
      onStop: (refusal) => void stopped(url, refusal, send, isLengthKnown),
    });
  }

  async function stopped(url: string, refusal: Refusal | null, send: Parameters<typeof start>[1], isLengthKnown: boolean): Promise<void> {
    const found = await diagnose(url, file, refusal, uploadsText.startAgain);
    if (isStopped) return;
    if (found.end !== undefined) return end(refusal === null ? uploadsText.unreadable(found.end) : found.end);
    if (found.isComplete) return emit({ type: "complete" });
    if (found.isBehind && !hasCorrectedOffset) {
      hasCorrectedOffset = true;
      return start(url, send, isLengthKnown || found.knowsLength);
    }
    end(refusal === null ? found.problem : inContext(found.problem, refusal));
  }

  return {
    stop(cancels = false) {
      isStopped = true;
      isCancelled = cancels;
      sending?.stop();
    },
  };
}

/** The signed URL of the upload. `null` if it needs none any more; the listener has heard why. */
async function locate(item: Item, emit: (event: Event) => void, isCancelled: () => boolean): Promise<string | null> {
  const { workspaceId, uploadId, settings, creationKey } = item;
  if (uploadId === null) {
    const upload = await createUpload(workspaceId, settings, creationKey);
    urls.set(upload.uploadId, upload.url);
    emit({ type: "created", uploadId: upload.uploadId });
    if (isCancelled()) await cancelUpload(workspaceId, upload.uploadId);
    return upload.url;
  }
  const url = urls.get(uploadId) ?? (await findUploadUrl(workspaceId, uploadId));
  if (url !== null) {
    urls.set(uploadId, url);
    return url;
  }
  // It is not unfinished any more.
  const media = await readUploadedMedia(workspaceId, uploadId);
  if (media === null) emit({ type: "fail", problem: uploadsText.gone });
  else if (media.status === "Failed") emit({ type: "fail", problem: uploadsText.mediaFailed(media.error) });
  else emit({ type: "complete" });
  return null;
}

/** The problems whose next step differs from that of the upload page. */
function inContext(problem: Problem, { status, description }: Refusal): Problem {
  if (status === 403) return uploadsText.forbidden(description);
  if (status === 409) return uploadsText.sentElsewhere(problem);
  return problem;
}
