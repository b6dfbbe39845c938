// Sends a file to the server by tus 1.0.

import { DetailedError, Upload } from "tus-js-client";

import { type Refusal, NO_ANSWER } from "./problem.js";
import { descriptionOf } from "./status.js";

/**
 * Bytes per request. Below 100 MB, the usual limit of reverse proxies and tunnels, and large enough that the
 * pauses between requests do not matter.
 */
const CHUNK_BYTES = 64 * 1024 * 1024;

/** Events of a running upload. */
export interface Listener {
  /** The server knows the length of the file. */
  onBegin(): void;
  /** Bytes sent so far. The server may not have stored all of them yet. */
  onProgress(bytes: number): void;
  /** The server has stored the whole file. */
  onSuccess(): void;
  /** The upload stopped. `null`: the file cannot be read. */
  onStop(refusal: Refusal | null): void;
}

/** A running upload. */
export interface Sending {
  /** Stops the upload. The listener receives no more events. */
  stop(): void;
}

/**
 * Sends `file` to the URL of its upload, from the server's offset.
 *
 * If the server knows the length, asks for the offset. Otherwise sends the length first. Never retries: the
 * listener knows whether a retry can help.
 */
export function send(address: string, file: File, knowsLength: boolean, listener: Listener): Sending {
  let isStopped = false;
  const upload = new Upload(file, {
    ...(knowsLength ? { uploadUrl: address } : { endpoint: address }),
    chunkSize: CHUNK_BYTES,
    retryDelays: null,
    storeFingerprintForResuming: false, // memory.ts stores it, without the URL
    onUploadUrlAvailable: () => listener.onBegin(),
    onProgress: (bytes) => listener.onProgress(bytes),
    onSuccess: () => !isStopped && listener.onSuccess(),
    onError: (error) => !isStopped && listener.onStop(refusalOf(error)),
  });
  upload.start();
  return {
    stop() {
      isStopped = true;
      void upload.abort();
    },
  };
}

function refusalOf(error: Error): Refusal | null {
  if (!(error instanceof DetailedError)) return null;
  const answer = error.originalResponse;
  if (answer === null || answer.getStatus() === 0) return NO_ANSWER;
  return {
    status: answer.getStatus(),
    retryAfter: answer.getHeader("Retry-After") ?? null,
    description: wordsOf(answer.getBody()),
    isBehind: answer.getHeader("Upload-Offset") !== undefined && answer.getHeader("Upload-Offset") !== null,
  };
}

function wordsOf(body: string): string {
  try {
    return descriptionOf(JSON.parse(body));
  } catch {
    return "";
  }
}
