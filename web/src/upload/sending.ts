// From a file to the server by tus 1.0. The page's address is that of the upload.

import { DetailedError, Upload } from "tus-js-client";

import { type Refusal, NO_ANSWER } from "./problem.js";
import { address, descriptionOf } from "./status.js";

/** Bytes of one request. Below what reverse proxies and tunnels commonly let through, 100 MB; large enough that pauses between do not count. */
const CHUNK_BYTES = 64 * 1024 * 1024;

/** What is told of a file on its way. */
export interface Listener {
  /** The server knows how long the file is. */
  onBegin(): void;
  /** So many bytes have gone, some of which may not be kept yet. */
  onProgress(bytes: number): void;
  /** The server has the whole file. */
  onSuccess(): void;
  /** It goes no further. `null`: the file cannot be read. */
  onStop(refusal: Refusal | null): void;
}

/** A file on its way. */
export interface Sending {
  /** Stops. Nothing more is told. */
  stop(): void;
}

/**
 * Sends `file` from where the server stands.
 *
 * Of an upload that knows its length it is asked where that is; one that does not is told the length first. Nothing is tried twice:
 * whoever listens knows better whether that can help.
 */
export function send(file: File, knowsLength: boolean, listener: Listener): Sending {
  let isStopped = false;
  const upload = new Upload(file, {
    ...(knowsLength ? { uploadUrl: address } : { endpoint: address }),
    chunkSize: CHUNK_BYTES,
    retryDelays: null,
    storeFingerprintForResuming: false, // memory.ts does, without the address
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
