// The way of files into the page: the picker, and files that are dropped. `host.tsx`, which loads after the
// page, takes them from here.

import { useSyncExternalStore } from "react";

/** A file, with its handle where the browser has one. A handle opens the file again after a reload. */
export interface Chosen {
  file: File;
  handle: FileSystemFileHandle | null;
}

/** Chromium has this picker in a secure context. */
interface HandlePicker {
  showOpenFilePicker?(options: { multiple: boolean }): Promise<FileSystemFileHandle[]>;
}

/** Files for which no settings are chosen yet, with what was left out of folders. */
export interface Arrival {
  chosen: Chosen[];
  leftOut: number;
  /** Names of files and folders that could not be read. */
  unreadable: string[];
}

/** The sign-out does not wait longer for the storage. */
const FORGET_MAX_MS = 1_000;

let arrival: Arrival | null = null;
let unfinished = 0;
const listeners = new Set<() => void>();

/** Opens the picker of the browser. Call it in the handler of a click or a key. */
export function openUploadPicker(): void {
  void chooseFiles().then((chosen) => chosen.length > 0 && arrive({ chosen, leftOut: 0, unreadable: [] }));
}

/** Lets the person choose files; none if they cancel. Call it in the handler of a click or a key. */
export async function chooseFiles(): Promise<Chosen[]> {
  const { showOpenFilePicker } = window as HandlePicker;
  if (showOpenFilePicker === undefined) return chooseByInput();
  try {
    const handles = await showOpenFilePicker.call(window, { multiple: true });
    return await Promise.all(handles.map(async (handle) => ({ file: await handle.getFile(), handle })));
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") return []; // cancelled
    return chooseByInput();
  }
}

function chooseByInput(): Promise<Chosen[]> {
  const input = document.createElement("input");
  input.type = "file";
  input.multiple = true;
  input.hidden = true;
  // Browsers may collect an element outside of the document while its dialog is open.
  document.body.append(input);
  return new Promise<Chosen[]>((resolve) => {
    input.addEventListener("change", () => resolve(Array.from(input.files ?? [], (file) => ({ file, handle: null }))));
    input.addEventListener("cancel", () => resolve([]));
    input.click();
  }).finally(() => input.remove());
}

/** Adds files to those that wait for their settings. */
export function arrive({ chosen, leftOut, unreadable }: Arrival): void {
  arrival = {
    chosen: [...(arrival?.chosen ?? []), ...chosen],
    leftOut: (arrival?.leftOut ?? 0) + leftOut,
    unreadable: [...(arrival?.unreadable ?? []), ...unreadable],
  };
  notify();
}

/** The settings are chosen, or the person does not want to upload. */
export function endArrival(): void {
  arrival = null;
  notify();
}

export function useArrival(): Arrival | null {
  return useSyncExternalStore(subscribe, () => arrival);
}

/** Tells the frame how many uploads of this person are unfinished in this browser. */
export function setUnfinishedUploads(count: number): void {
  if (count === unfinished) return;
  unfinished = count;
  notify();
}

let forget: () => Promise<void> = () => Promise.resolve();

/** Sets what forgets the uploads of this person in this browser. */
export function setForgetUploads(next: () => Promise<void>): void {
  forget = next;
}

/** For the sign-out: over plain HTTP browsers ignore `Clear-Site-Data`. It takes a second at most. */
export function forgetUploads(): Promise<void> {
  const deadline = new Promise<void>((resolve) => setTimeout(resolve, FORGET_MAX_MS));
  return Promise.race([forget().catch(() => {}), deadline]); // the storage may be deleted already
}

export function useUnfinishedUploads(): number {
  return useSyncExternalStore(subscribe, () => unfinished);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function notify(): void {
  for (const listener of listeners) listener();
}
