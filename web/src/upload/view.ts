// Shows the state, announces it to screen readers, and sets the focus. Has no access to the server.

import { bytesText, leftText } from "./pace.js";
import type { Problem } from "./problem.js";

/** The sections of the page; one is visible. */
const SECTIONS = ["choose", "question", "sending", "ended", "ready"] as const;
type Section = (typeof SECTIONS)[number];

/** Percent between two announcements: frequent enough to show progress, rare enough not to disturb. */
const ANNOUNCE_EVERY = 10;

let announced = 0;

/** Shows the field for a file. */
export function showChoose(title: string, text: string): void {
  element("choose-title").textContent = title;
  setText("choose-text", text);
  setText("drop-text", matchMedia("(pointer: coarse)").matches ? "" : "or drop it here");
  (element("file") as HTMLInputElement).value = ""; // so that the same file can be chosen again
  show("choose");
}

/** Asks whether this is the file that the upload was started with. */
export function showQuestion(title: string, text: string): void {
  element("question-title").textContent = title;
  element("question-text").textContent = text;
  show("question");
}

/** Shows the upload in progress. */
export function showSending(name: string): void {
  element("file-name").textContent = name;
  announced = 0;
  showState("Sending", null);
  show("sending");
}

/** The file is complete and the media is being made. */
export function showWaiting(): void {
  const progress = element("progress") as HTMLProgressElement;
  progress.removeAttribute("value"); // indeterminate until the media is ready
  for (const id of ["sent", "pace"]) element(id).textContent = "";
  showState("Getting ready", null);
  offer(null);
  document.title = "Getting ready";
  show("sending");
  say("Everything is sent. Processing starts.");
}

/** Shows the state of the upload in a few words, and the problem that delays it. */
export function showState(title: string, problem: Problem | null): void {
  const stoodStill = !element("sending-text").hidden;
  element("sending-title").textContent = title;
  setText("sending-text", problem?.text ?? "");
  if (problem !== null) {
    element("pace").textContent = "";
    say(`${problem.title}. ${problem.text}`);
  } else if (stoodStill) {
    say(title);
  }
}

/** Shows one of the two buttons, or none. A focused button passes its focus on. */
export function offer(button: "pause" | "resume" | null): void {
  const hadFocus = ["pause", "resume"].includes(document.activeElement?.id ?? "");
  for (const id of ["pause", "resume"]) element(id).hidden = id !== button;
  if (hadFocus) element(button ?? "sending-title").focus();
}

/** Shows the progress. */
export function showProgress(bytes: number, size: number, perSecond: number | null): void {
  const percent = Math.floor((bytes / size) * 100);
  const progress = element("progress") as HTMLProgressElement;
  progress.value = bytes / size;
  element("sent").textContent = `${bytesText(bytes)} of ${bytesText(size)}, ${percent} %`;
  const isMoving = perSecond !== null && perSecond > 0 && bytes < size;
  element("pace").textContent = isMoving ? `${bytesText(perSecond)}/s, ${leftText((size - bytes) / perSecond)}` : "";
  document.title = `${percent} % – Upload`;
  if (percent >= announced + ANNOUNCE_EVERY) {
    announced = percent - (percent % ANNOUNCE_EVERY);
    say(`${announced} percent`);
  }
}

/** Shows the end of the upload, with a retry button if a retry can help. */
export function showEnded({ title, text, retry }: Problem): void {
  element("ended-title").textContent = title;
  element("ended-text").textContent = text;
  element("again").hidden = retry === "never";
  document.title = title;
  show("ended");
  say(`${title}. ${text}`);
}

/** The media can be played; shows the player if there is a `playerUrl`. */
export function showReady(playerUrl: string | null): void {
  element("ready-text").textContent =
    playerUrl === null
      ? "The file is uploaded, and authorised viewers can play it. You can close this page."
      : "The file is uploaded and plays. You can close this page.";
  if (playerUrl !== null) {
    const frame = document.createElement("iframe");
    frame.title = "Player";
    frame.allow = "autoplay; encrypted-media; fullscreen; picture-in-picture";
    frame.allowFullscreen = true;
    frame.src = playerUrl;
    element("player").replaceChildren(frame);
  }
  document.title = "Ready";
  show("ready");
  say("Ready. The file is uploaded.");
}

/** Announces a text to screen readers, after their current text. */
export function say(text: string): void {
  element("announcement").textContent = text;
}

/** An element of the template. */
export function element(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`upload.html has no element ${id}`);
  return found;
}

/** Shows one section. If the focus was in the section before, moves it to the new heading. */
function show(section: Section): void {
  const before = SECTIONS.find((id) => !element(id).hidden);
  const hadFocus = before !== undefined && (document.activeElement === document.body || element(before).contains(document.activeElement));
  for (const id of SECTIONS) element(id).hidden = id !== section;
  if (before !== undefined && before !== section && hadFocus) element(`${section}-title`).focus();
}

function setText(id: string, text: string): void {
  element(id).textContent = text;
  element(id).hidden = text === "";
}
