// The uploads that this tab sends, and the pauses before it tries again.

import { retryAfter_ms } from "../../upload/problem.js";
import { type Event, type Item, isRunning, next, toBegin } from "./item.js";
import { type Run, run } from "./runner.js";
import type { Progress } from "./tabs.js";

interface Queue {
  items: Map<string, Item>;
  files: ReadonlyMap<string, File>;
  /** Applies an event to the stored item, and resolves after that. */
  change(id: string, event: Event): Promise<void>;
  onProgress(id: string, progress: Progress): void;
  /** Something may begin. */
  update(): void;
}

export class Senders {
  readonly #runs = new Map<string, Run>();
  readonly #retries = new Map<string, number>();

  constructor(readonly queue: Queue) {
    addEventListener("online", () => this.#retryAll());
  }

  get count(): number {
    return this.#runs.size;
  }

  has(id: string): boolean {
    return this.#runs.has(id);
  }

  /** Begins as many uploads as may run at once. */
  begin(atOnce: number): void {
    const { items, files } = this.queue;
    for (const item of toBegin([...items.values()], atOnce, ({ id }) => files.has(id) && !this.#runs.has(id))) this.#run(item);
  }

  /** Stops an upload in this tab. A cancelled one is cancelled on the server too, if that is creating it. */
  stop(id: string, isCancelled = false): void {
    window.clearTimeout(this.#retries.get(id));
    this.#retries.delete(id);
    this.#runs.get(id)?.stop(isCancelled);
    this.#runs.delete(id);
  }

  stopAll(): void {
    for (const id of [...this.#runs.keys(), ...this.#retries.keys()]) this.stop(id);
  }

  #run(item: Item): void {
    const { id } = item;
    const file = this.queue.files.get(id);
    if (file === undefined) return;
    // Counted as running from now on: the store answers later.
    this.queue.items.set(id, next(item, { type: "begin" }));
    const started = run(item, file, {
      onEvent: (event) => void this.#onEvent(id, event),
      onProgress: (progress) => this.queue.onProgress(id, progress),
    });
    this.#runs.set(id, started);
  }

  async #onEvent(id: string, event: Event): Promise<void> {
    const item = this.queue.items.get(id);
    // Most chunks change nothing that is stored.
    if (item === undefined || (event.type === "moved" && next(item, event) === item)) return;
    if (event.type === "hold" || event.type === "fail" || event.type === "complete") this.#runs.delete(id);
    await this.queue.change(id, event);
    const held = this.queue.items.get(id);
    if (event.type === "hold" && held !== undefined && isRunning(held)) {
      this.#retries.set(id, window.setTimeout(() => this.#retry(id), retryAfter_ms(event.problem, held.tries - 1)));
    }
  }

  #retry(id: string): void {
    window.clearTimeout(this.#retries.get(id));
    this.#retries.delete(id);
    const item = this.queue.items.get(id);
    if (item?.phase === "held") this.#run(item);
    this.queue.update();
  }

  #retryAll(): void {
    for (const id of [...this.#retries.keys()]) this.#retry(id);
  }
}
