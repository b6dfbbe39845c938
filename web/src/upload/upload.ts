// The page at the URL of a direct upload: sends a file to that URL, and plays the resulting media.
//
// `status.ts` requests the status, `sending.ts` sends, `diagnosis.ts` and `problem.ts` explain errors,
// `memory.ts` recognises a file, `view.ts` shows. This file connects them.

import { diagnose } from "./diagnosis.js";
import { fingerprintOf, forget, recall, remember } from "./memory.js";
import { Pace, bytesText } from "./pace.js";
import { type Problem, type Refusal, EMPTY, endOf, problemOf, retryAfter_ms } from "./problem.js";
import { type Sending, send } from "./sending.js";
import { type Status, ask } from "./status.js";
import {
  element,
  offer,
  say,
  showChoose,
  showEnded,
  showProgress,
  showQuestion,
  showReady,
  showSending,
  showState,
  showWaiting,
} from "./view.js";

/** The URL of the page, which is the URL of the upload. */
const address = location.href.replace(/#.*$/s, "");
/** Delays between status requests while the media is not ready; mostly it is ready at once. */
const ASK_AFTER_MS = [100, 200, 400, 800, 1_500, 3_000];
/** Interval of rate updates while no bytes move. */
const LOOK_EVERY_MS = 1_000;
/** Interval of status requests while another tab may send the file. */
const WATCH_EVERY_MS = 5_000;

/** The upload in progress. */
interface Job {
  file: File;
  uploadId: string;
  pace: Pace;
  /** Bytes sent; `null` while the server's offset is unknown. */
  sent: number | null;
  /** `null` while nothing is sent. */
  sending: Sending | null;
  isPaused: boolean;
  /** Whether the server knows the length of the file. */
  knowsLength: boolean;
  /** Attempts since the last byte was sent. */
  tries: number;
}

let job: Job | null = null;
let timer = 0;
/** Counts the chosen files: only the last one is used. */
let asking = 0;

const field = element("file") as HTMLInputElement;
field.addEventListener("change", () => takeFirst(field.files));
element("pause").addEventListener("click", pause);
element("resume").addEventListener("click", () => {
  if (job !== null) start(job);
});
element("again").addEventListener("click", () => void begin());
// Otherwise the browser would open a file that is dropped beside the field.
window.addEventListener("dragover", (event) => event.preventDefault());
window.addEventListener("drop", (event) => {
  event.preventDefault();
  element("drop").classList.remove("over");
  if (!element("choose").hidden) takeFirst(event.dataTransfer?.files ?? null);
});
element("drop").addEventListener("dragenter", () => element("drop").classList.add("over"));
element("drop").addEventListener("dragleave", () => element("drop").classList.remove("over"));
window.addEventListener("online", () => {
  if (job !== null && job.sending === null && !job.isPaused) start(job);
});
window.addEventListener("beforeunload", (event) => {
  if (job !== null && !job.isPaused) event.preventDefault();
});
window.setInterval(look, LOOK_EVERY_MS);
void begin();

function takeFirst(files: FileList | null): void {
  const file = files?.[0];
  if (file !== undefined) void take(file);
}

/** Requests the status and continues from there. */
async function begin(): Promise<void> {
  const answer = await ask(address);
  if ("refusal" in answer) return showRefused(answer.refusal);
  const { status } = answer;
  const end = endOf(status);
  if (end !== null) showEnded(end);
  else if (status.status === "completed") await finish(status.uploadId);
  else choose(status);
}

/** Before an upload there is no automatic retry: the user can try again. */
function showRefused(refusal: Refusal): void {
  const problem = problemOf(refusal);
  showEnded(problem.retry === "never" ? problem : { ...problem, text: "Try again in a moment.", retry: "on-request" });
}

function choose(status: Status): void {
  const { keptBytes, sizeBytes, uploadId } = status;
  if (keptBytes === 0) {
    showChoose("Which file?", "Any video or audio file. If the connection breaks, the upload resumes where it stopped.");
    return;
  }
  const of = sizeBytes === undefined ? "" : ` of ${bytesText(sizeBytes)}`;
  const name = recall(uploadId)?.name ?? "the file";
  showChoose("Resume the upload", `${bytesText(keptBytes)}${of} of ${name} are uploaded already. Choose the same file again to send the rest.`);
}

/** Handles a chosen file: sends it if it can be the right one, and asks the user if unsure. */
async function take(file: File): Promise<void> {
  if (job !== null) return;
  asking += 1;
  const asked = asking;
  const answer = await ask(address); // another tab may have sent more, or all of it
  if (job !== null || asked !== asking) return; // another file was chosen in the meantime
  if ("refusal" in answer) return showRefused(answer.refusal);
  const { status } = answer;
  const { uploadId, keptBytes, sizeBytes } = status;
  if (endOf(status) !== null || status.status === "completed") {
    await begin();
    return;
  }
  if (file.size === 0) {
    showChoose(EMPTY.title, EMPTY.text);
    say(`${EMPTY.title}. ${EMPTY.text}`);
    return;
  }
  const before = recall(uploadId);
  if (sizeBytes !== undefined && sizeBytes !== file.size) {
    const title = "This is another file";
    const text =
      `The upload was started with ${before === null ? "a file" : before.name} of ${bytesText(sizeBytes)} (${sizeBytes} bytes); ` +
      `${file.name} has ${bytesText(file.size)} (${file.size} bytes). Choose the first file, or request a new link.`;
    showChoose(title, text);
    say(`${title}. ${text}`);
    return;
  }
  const fingerprint = await fingerprintOf(file, uploadId);
  if (job !== null || asked !== asking) return;
  const go = () => {
    remember(uploadId, { fingerprint, name: file.name });
    const knowsLength = sizeBytes !== undefined;
    job = { file, uploadId, pace: new Pace(), sent: null, sending: null, isPaused: false, knowsLength, tries: 0 };
    showSending(file.name);
    showProgress(keptBytes, file.size, null);
    start(job);
  };
  if (keptBytes === 0 || before?.fingerprint === fingerprint) {
    go();
    return;
  }
  const begun = `${bytesText(keptBytes)} are uploaded already`;
  if (before === null) {
    showQuestion("Is this the same file?", `${begun}, sent from another browser. If ${file.name} is another file, the result cannot be played.`);
  } else {
    const what = before.name === file.name ? "it has changed since" : `the first file is called ${before.name}`;
    showQuestion("This seems to be another file", `${begun}, and ${what}. If ${file.name} is another file, the result cannot be played.`);
  }
  element("question-yes").onclick = go;
  element("question-no").onclick = () => choose(status);
}

function start(current: Job): void {
  window.clearTimeout(timer);
  current.sending?.stop();
  current.isPaused = false;
  current.pace = new Pace();
  current.sent = null;
  offer("pause");
  let from: number | null = null;
  current.sending = send(address, current.file, current.knowsLength, {
    onBegin() {
      current.knowsLength = true;
    },
    onProgress(bytes) {
      from ??= bytes; // the server's offset, reported before the first byte is sent
      current.sent = bytes;
      current.pace.note(bytes, performance.now());
      showProgress(bytes, current.file.size, current.pace.perSecond());
      if (bytes === from) return;
      current.tries = 0;
      showState(bytes === current.file.size ? "Almost done" : "Sending", null);
    },
    onSuccess: () => void finish(current.uploadId),
    onStop(refusal) {
      current.sending = null;
      void stopped(current, refusal);
    },
  });
}

/** Shows why it stopped, and retries if that can help. */
async function stopped(current: Job, refusal: Refusal | null): Promise<void> {
  const found = await diagnose(address, current.file, refusal);
  if (found.end !== undefined) return end(found.end);
  if (found.isComplete) return finish(current.uploadId);
  current.knowsLength ||= found.knowsLength;
  // The user pressed a button meanwhile.
  if (job !== current || current.isPaused || current.sending !== null) return;
  const { problem } = found;
  if (found.isBehind && current.tries === 0) {
    current.tries = 1;
    current.knowsLength = true;
    start(current);
  } else if (problem.retry === "never") {
    end(problem);
  } else if (problem.retry === "on-request") {
    standStill(current, problem);
  } else {
    showState(problem.title, problem);
    timer = window.setTimeout(() => start(current), retryAfter_ms(problem, current.tries));
    current.tries += 1;
  }
}

/** Waits for the user to press a button. Meanwhile polls whether another tab has completed the upload. */
function standStill(current: Job, problem: Problem): void {
  current.isPaused = true;
  showState(problem.title, problem);
  offer("resume");
  const watch = async () => {
    const answer = await ask(address);
    if (job !== current || !current.isPaused) return;
    if ("status" in answer) {
      if (answer.status.status === "completed") return finish(current.uploadId);
      const problem = endOf(answer.status);
      if (problem !== null) return end(problem);
    }
    timer = window.setTimeout(watch, WATCH_EVERY_MS);
  };
  timer = window.setTimeout(watch, WATCH_EVERY_MS);
}

/** The file is complete: waits until the media is ready or has failed. */
async function finish(uploadId: string): Promise<void> {
  leave();
  forget(uploadId);
  showWaiting();
  for (let asked = 0; ; asked += 1) {
    const answer = await ask(address);
    if ("status" in answer) {
      const problem = endOf(answer.status);
      if (problem !== null) return showEnded(problem);
      if (answer.status.isReady) return showReady(answer.status.playerUrl ?? null);
    } else {
      const problem = problemOf(answer.refusal);
      if (problem.retry !== "by-itself") return showEnded(problem);
    }
    await new Promise((resolve) => window.setTimeout(resolve, ASK_AFTER_MS[Math.min(asked, ASK_AFTER_MS.length - 1)]));
  }
}

function end(problem: Problem): void {
  leave();
  showEnded(problem);
}

/** Ends the upload in this page. */
function leave(): void {
  window.clearTimeout(timer);
  job?.sending?.stop();
  job = null;
}

/** Updates the rate while no bytes move and no event arrives; otherwise the last rate would stay. */
function look(): void {
  if (job === null || job.sending === null || job.sent === null) return;
  job.pace.note(job.sent, performance.now());
  showProgress(job.sent, job.file.size, job.pace.perSecond());
}

function pause(): void {
  if (job === null || job.isPaused) return;
  window.clearTimeout(timer);
  job.sending?.stop();
  job.sending = null;
  job.isPaused = true;
  if (job.sent !== null) showProgress(job.sent, job.file.size, null);
  showState("Paused", null);
  say("Paused");
  offer("resume");
}
