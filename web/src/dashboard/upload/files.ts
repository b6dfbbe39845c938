// Files of a drop, of folders, and of handles that are stored.

import type { Arrival, Chosen } from "../upload-ui/intake.js";

/** What only Chromium has. */
interface HandleItem {
  getAsFileSystemHandle?(): Promise<FileSystemHandle | null>;
}
interface PermittedHandle {
  queryPermission?(options: { mode: "read" }): Promise<PermissionState>;
  requestPermission?(options: { mode: "read" }): Promise<PermissionState>;
}

/** Files of one drop, and levels of folders. */
const FILES_MAX = 1_000;
const DEPTH_MAX = 16;

/**
 * Reads a drop. What cannot be read is named; the rest is kept. Call it in the handler of the event: the
 * browser forgets the data after it.
 */
export function readDrop(data: DataTransfer): Promise<Arrival> {
  const roots = Array.from(data.items, (item) => {
    if (item.kind !== "file") return null;
    const handle = (item as HandleItem).getAsFileSystemHandle?.().catch(() => null) ?? Promise.resolve(null);
    return { handle, entry: item.webkitGetAsEntry?.() ?? null, file: item.getAsFile() };
  });
  return collect(roots.filter((root) => root !== null));
}

interface Root {
  handle: Promise<FileSystemHandle | null>;
  entry: FileSystemEntry | null;
  file: File | null;
}

async function collect(roots: Root[]): Promise<Arrival> {
  const dropped: Arrival = { chosen: [], leftOut: 0, unreadable: [] };
  for (const { handle: promise, entry, file } of roots) {
    const handle = await promise;
    await orNamed(dropped, handle?.name ?? entry?.name ?? file?.name ?? "", async () => {
      if (handle?.kind === "directory") await ofFolderHandle(handle as FileSystemDirectoryHandle, dropped, 0);
      else if (handle?.kind === "file") add(dropped, await chosenOf(handle as FileSystemFileHandle));
      else if (entry?.isDirectory) await ofFolder(entry as FileSystemDirectoryEntry, dropped, 0);
      else if (file !== null) add(dropped, { file, handle: null });
    });
  }
  return dropped;
}

/** Runs `read`. If it fails, the name is listed as unreadable. */
async function orNamed(dropped: Arrival, name: string, read: () => Promise<void>): Promise<void> {
  try {
    await read();
  } catch {
    dropped.unreadable.push(name);
  }
}

const chosenOf = async (handle: FileSystemFileHandle): Promise<Chosen> => ({ file: await handle.getFile(), handle });

async function ofFolderHandle(folder: FileSystemDirectoryHandle, dropped: Arrival, depth: number): Promise<void> {
  const entries = folder as FileSystemDirectoryHandle & { values(): AsyncIterable<FileSystemHandle> };
  for await (const handle of entries.values()) {
    await orNamed(dropped, handle.name, async () => {
      if (handle.kind === "file") addOfFolder(dropped, await chosenOf(handle as FileSystemFileHandle));
      else if (depth < DEPTH_MAX) await ofFolderHandle(handle as FileSystemDirectoryHandle, dropped, depth + 1);
    });
  }
}

async function ofFolder(folder: FileSystemDirectoryEntry, dropped: Arrival, depth: number): Promise<void> {
  const reader = folder.createReader();
  for (;;) {
    // A reader returns some entries at a time, and none at the end.
    const entries = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (entries.length === 0) return;
    for (const entry of entries) {
      await orNamed(dropped, entry.name, async () => {
        if (entry.isFile) {
          const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
          addOfFolder(dropped, { file, handle: null });
        } else if (depth < DEPTH_MAX) {
          await ofFolder(entry as FileSystemDirectoryEntry, dropped, depth + 1);
        }
      });
    }
  }
}

/** Adds video and audio of a folder. The type comes from the ending of the name. */
function addOfFolder(dropped: Arrival, chosen: Chosen): void {
  const { name, type } = chosen.file;
  const isOther = name.startsWith(".") || (type !== "" && !/^(video|audio)\/|^application\/(ogg|mxf|octet-stream|vnd\.rn-realmedia)/.test(type));
  if (isOther || type === "" && !/\.(mkv|mka|ts|m2ts|mts|mxf|flv|wmv|avi|mov|mp4|webm|opus|flac|caf|aiff?|ac3|eac3|vob|3gp)$/i.test(name)) dropped.leftOut += 1;
  else add(dropped, chosen);
}

function add(dropped: Arrival, chosen: Chosen): void {
  if (dropped.chosen.length < FILES_MAX) dropped.chosen.push(chosen);
  else dropped.leftOut += 1;
}

/** The file of a stored handle. `null` without the permission of the person, or if the file is gone. */
export async function fileOf(handle: FileSystemFileHandle, mayAsk: boolean): Promise<File | null> {
  const permitted = handle as FileSystemFileHandle & PermittedHandle;
  try {
    let state = (await permitted.queryPermission?.({ mode: "read" })) ?? "granted";
    if (state === "prompt" && mayAsk) state = (await permitted.requestPermission?.({ mode: "read" })) ?? "denied";
    return state === "granted" ? await handle.getFile() : null;
  } catch {
    return null; // moved or deleted, or the browser wanted a click
  }
}
