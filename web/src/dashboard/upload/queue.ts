// The uploads of a person in this browser. It outlives pages and reloads; one tab sends (`lock.ts`).
//
// IndexedDB has the truth. Each tab reads it, changes it by events (`item.ts`), and tells the others. The
// tab with the lock runs the uploads; all tabs keep the files, so that any of them can.

import { cancelUpload } from "../api/uploads.js";
import { remember } from "../frame/memory.js";
import type { Chosen } from "../upload-ui/intake.js";
import { uploadsText } from "../text/uploads.js";
import { endsOf } from "./ends.js";
import { type Added, atOnceStored, newItems, randomId } from "./entries.js";
import { fileOf } from "./files.js";
import { type Event, type Item, isRunning, isUnfinished, mayRetry, next } from "./item.js";
import { requestLock } from "./lock.js";
import { type Refused, matchOf } from "./match.js";
import { readOffsets } from "./offsets.js";
import { Readiness } from "./readiness.js";
import { Senders } from "./senders.js";
import type { Snapshot } from "./snapshot.js";
import { type Store, openStore } from "./store.js";
import { type Message, type Progress, type Tabs, openTabs } from "./tabs.js";

/** How often the page and other tabs learn of the progress. */
const TELL_EVERY_MS = 250;
/** Uploads whose media are ready leave the list after this time. */
const READY_KEPT_MS = 24 * 60 * 60 * 1000;

export class Queue {
  readonly #tab = randomId();
  #store: Store | null = null;
  readonly #tabs: Tabs;
  readonly #listeners = new Set<() => void>();
  readonly #items = new Map<string, Item>();
  readonly #files = new Map<string, File>();
  readonly #progress = new Map<string, Progress>();
  #isSender = false;
  #atOnce = atOnceStored();
  #tellTimer: number | null = null;
  #snapshot: Snapshot = { items: [], progress: new Map(), withFile: new Set(), isSender: false, atOnce: atOnceStored() };
  readonly #ready: Promise<void>;
  readonly #readiness = new Readiness((id, event) => this.#change(id, event));
  readonly #senders = new Senders({
    items: this.#items,
    files: this.#files,
    change: (id, event) => this.#change(id, event),
    onProgress: (id, progress) => {
      this.#progress.set(id, progress);
      this.#tell();
    },
    update: () => this.#update(),
  });

  constructor(readonly personId: string) {
    this.#tabs = openTabs(personId, (message) => void this.#onMessage(message));
    this.#ready = this.#open();
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly snapshot = (): Snapshot => this.#snapshot;

  /** Puts files at the end of the queue. Rejects if the browser cannot store them. */
  async add(workspaceId: string, added: Added[]): Promise<void> {
    await this.#ready;
    const last = Math.max(0, ...[...this.#items.values()].map(({ order }) => order));
    const items = newItems(this.personId, workspaceId, added, last);
    this.#keepFiles(items.map((item, index) => [item.id, added[index]?.chosen.file as File]));
    try {
      await this.#store?.add(items);
    } catch (error) {
      for (const { id } of items) this.#files.delete(id);
      throw error;
    }
    for (const item of items) this.#items.set(item.id, item);
    this.#tabs.tell({ type: "changed", ids: items.map(({ id }) => id) });
    this.#update();
  }

  async pause(ids: string[]): Promise<void> {
    await Promise.all(ids.map((id) => this.#change(id, { type: "pause" })));
  }

  /** Resumes paused uploads and tries failed ones again. Call it in the handler of a click. */
  async resume(ids: string[]): Promise<void> {
    await Promise.all([this.openHandles(ids), ...ids.map((id) => this.#change(id, { type: "resume" }))]);
  }

  /** Sends failed files again, to new uploads. Call it in the handler of a click. */
  async restart(ids: string[]): Promise<void> {
    await Promise.all([this.openHandles(ids), ...ids.map((id) => this.#change(id, { type: "restart", creationKey: randomId() }))]);
  }

  /** Opens files by their handles. Call it in the handler of a click: the browser may ask the person. */
  async openHandles(ids: string[], mayAsk = true): Promise<void> {
    for (const id of ids) {
      const item = this.#items.get(id);
      if (item === undefined || item.handle === null || this.#files.has(id)) continue;
      const file = await fileOf(item.handle, mayAsk);
      if (file === null) continue;
      const isSame = file.size === item.size && (await endsOf(file).catch(() => null)) === item.ends;
      if (isSame) this.#keepFiles([[id, file]]);
      else await this.#change(id, { type: "fail", problem: uploadsText.changed });
    }
  }

  /** Takes files that are chosen again. Returns those that belong to no upload, with the reason. */
  async findAgain(chosen: Chosen[], items: Item[]): Promise<Refused[]> {
    const refused: Refused[] = [];
    for (const { file, handle } of chosen) {
      const found = matchOf(items, { name: file.name, size: file.size, ends: await endsOf(file).catch(() => "") });
      if ("item" in found) {
        if (handle !== null) await this.#store?.update(found.item.id, (item) => ({ ...item, handle }));
        this.#keepFiles([[found.item.id, file]]);
      } else {
        refused.push({ name: file.name, mismatch: found.mismatch, expected: found.expected ?? null });
      }
    }
    return refused;
  }

  /** Moves an upload before (-1) or after (1) its neighbour among those of its workspace that wait. */
  async move(id: string, by: -1 | 1): Promise<void> {
    const item = this.#items.get(id);
    const queue = this.#snapshot.items.filter((other) => other.workspaceId === item?.workspaceId && isUnfinished(other));
    const neighbour = queue[queue.findIndex((other) => other.id === id) + by];
    if (item === undefined || neighbour === undefined) return;
    await this.#replace(id, (stored) => ({ ...stored, order: neighbour.order }));
    await this.#replace(neighbour.id, (stored) => ({ ...stored, order: item.order }));
  }

  /** Cancels an upload on the server, and removes it. After an error of the server it goes on. */
  async cancel(id: string): Promise<void> {
    const item = this.#items.get(id);
    if (item === undefined) return;
    this.#senders.stop(id, true);
    await this.pause([id]);
    const { uploadId } = (await this.#store?.get(id)) ?? item;
    const isOver = item.phase === "failed" && !mayRetry(item);
    try {
      if (uploadId !== null && !isOver) await cancelUpload(item.workspaceId, uploadId);
    } catch (error) {
      if (item.phase !== "paused" && item.phase !== "failed") await this.#change(id, { type: "resume" });
      throw error;
    }
    await this.remove([id]);
  }

  /** Takes uploads out of the list. */
  async remove(ids: string[]): Promise<void> {
    await this.#store?.remove(ids);
    this.#tabs.tell({ type: "changed", ids });
    for (const id of ids) this.#drop(id);
    this.#update();
  }

  setAtOnce(count: number): void {
    remember("uploadsAtOnce", String(count));
    this.#atOnce = count;
    this.#tabs.tell({ type: "settings" });
    this.#update();
  }

  /** Stops and forgets everything of this person, before the sign-out. */
  async forget(): Promise<void> {
    this.#tabs.tell({ type: "forget" });
    await this.remove([...this.#items.keys()]);
  }

  /** Whether bytes are being sent by this tab. */
  get isSending(): boolean {
    return this.#senders.count > 0;
  }

  async #open(): Promise<void> {
    this.#store = await openStore(this.personId);
    await this.#read();
    void readOffsets([...this.#items.values()], (id, bytes) => this.#onOffset(id, bytes));
    this.#tabs.tell({ type: "files wanted" });
    await this.openHandles([...this.#items.values()].filter(isUnfinished).map(({ id }) => id), false);
    requestLock(
      this.personId,
      this.#tab,
      () => void this.#becomeSender(),
      () => this.#endSending(),
    );
  }

  async #becomeSender(): Promise<void> {
    await this.#read();
    for (const item of this.#items.values()) {
      if (isRunning(item)) await this.#change(item.id, { type: "abandoned" });
    }
    this.#isSender = true;
    this.#update();
  }

  #endSending(): void {
    this.#isSender = false;
    this.#senders.stopAll();
    this.#update();
  }

  async #read(): Promise<void> {
    const items = (await this.#store?.all()) ?? [];
    const old = items.filter(({ phase, addedAt }) => phase === "ready" && Date.now() - addedAt > READY_KEPT_MS);
    if (old.length > 0) await this.#store?.remove(old.map(({ id }) => id));
    this.#items.clear();
    for (const item of items) if (!old.includes(item)) this.#items.set(item.id, item);
    this.#update();
  }

  async #onMessage(message: Message): Promise<void> {
    if (message.type === "files") {
      for (const [id, file] of message.files) this.#files.set(id, file);
    } else if (message.type === "files wanted") {
      if (this.#files.size > 0) this.#tabs.tell({ type: "files", files: [...this.#files] });
      return;
    } else if (message.type === "progress") {
      for (const [id, progress] of message.progress) this.#progress.set(id, progress);
    } else if (message.type === "settings") {
      this.#atOnce = atOnceStored();
    } else if (message.type === "forget") {
      for (const id of [...this.#items.keys()]) this.#drop(id);
    } else {
      for (const id of message.ids) {
        const item = await this.#store?.get(id);
        if (item === undefined) this.#drop(id);
        else this.#show(item);
      }
    }
    this.#update();
  }

  /** Applies an event to the stored item, and tells the other tabs. */
  async #change(id: string, event: Event): Promise<void> {
    await this.#replace(id, (item) => next(item, event));
  }

  async #replace(id: string, change: (item: Item) => Item): Promise<void> {
    const item = await this.#store?.update(id, change);
    if (item === undefined) this.#drop(id);
    else this.#show(item);
    this.#tabs.tell({ type: "changed", ids: [id] });
    this.#update();
  }

  /** Shows the stored item. What was paused, here or in another tab, stops. */
  #show(item: Item): void {
    this.#items.set(item.id, item);
    if (!isRunning(item)) this.#senders.stop(item.id);
    const progress = this.#progress.get(item.id);
    if (item.uploadId === null) this.#progress.delete(item.id);
    else if (progress !== undefined && item.phase === "waiting") this.#progress.set(item.id, { ...progress, perSecond: null });
    if (item.problem?.retry === "on-request" && item.phase === "failed" && item.problem.title === uploadsText.unreadableTitle) this.#files.delete(item.id);
  }

  #onOffset(id: string, bytes: number): void {
    // Never back: once an upload resumes, its own progress is ahead of the stored bytes.
    if (!this.#items.has(id) || (this.#progress.get(id)?.bytes ?? -1) >= bytes) return;
    this.#progress.set(id, { bytes, perSecond: null });
    this.#update();
  }

  #drop(id: string): void {
    this.#senders.stop(id);
    for (const map of [this.#items, this.#files, this.#progress]) map.delete(id);
  }

  #keepFiles(files: [id: string, file: File][]): void {
    for (const [id, file] of files) this.#files.set(id, file);
    this.#tabs.tell({ type: "files", files });
    this.#update();
  }

  /** Begins what may begin, and shows the queue as it is. */
  #update(): void {
    if (this.#isSender) this.#senders.begin(this.#atOnce);
    this.#readiness.watch([...this.#items.values()].filter(({ phase }) => phase === "preparing"));
    const items = [...this.#items.values()].sort((one, other) => one.order - other.order);
    const withFile = new Set(this.#files.keys());
    this.#snapshot = { items, progress: new Map(this.#progress), withFile, isSender: this.#isSender, atOnce: this.#atOnce };
    for (const listener of this.#listeners) listener();
  }

  /** Tells the page and the other tabs how far the uploads are. */
  #tell(): void {
    this.#tellTimer ??= window.setTimeout(() => {
      this.#tellTimer = null;
      const progress = [...this.#progress].filter(([id]) => this.#senders.has(id));
      this.#tabs.tell({ type: "progress", progress });
      this.#update();
    }, TELL_EVERY_MS);
  }
}
