// Asks about media that are not ready yet, while the page is visible.

import { readUploadedMedia } from "../api/uploads.js";
import { uploadsText } from "../text/uploads.js";
import type { Event, Item } from "./item.js";

/** Delays between looks; the last one repeats. Mostly media are ready at once. */
const LOOK_AFTER_MS = [300, 700, 1_500, 3_000, 5_000];

export class Readiness {
  #preparing: Item[] = [];
  readonly #looks = new Map<string, number>();
  #timer: number | null = null;

  constructor(readonly onEvent: (id: string, event: Event) => Promise<void>) {
    document.addEventListener("visibilitychange", () => this.#plan());
  }

  /** The uploads whose files have arrived, and whose media are not ready. */
  watch(preparing: Item[]): void {
    this.#preparing = preparing;
    this.#plan();
  }

  #plan(): void {
    if (this.#preparing.length === 0 || document.hidden || this.#timer !== null) return;
    const looks = Math.min(...this.#preparing.map(({ id }) => this.#looks.get(id) ?? 0));
    this.#timer = window.setTimeout(() => {
      void Promise.all(this.#preparing.map((item) => this.#look(item))).finally(() => {
        this.#timer = null;
        this.#plan();
      });
    }, LOOK_AFTER_MS[Math.min(looks, LOOK_AFTER_MS.length - 1)]);
  }

  async #look({ id, workspaceId, uploadId }: Item): Promise<void> {
    this.#looks.set(id, (this.#looks.get(id) ?? 0) + 1);
    if (uploadId === null) return;
    try {
      const media = await readUploadedMedia(workspaceId, uploadId);
      if (media === null) await this.onEvent(id, { type: "fail", problem: uploadsText.mediaGone });
      else if (media.status === "Ready") await this.onEvent(id, { type: "ready" });
      else if (media.status === "Failed") await this.onEvent(id, { type: "fail", problem: uploadsText.mediaFailed(media.error) });
    } catch {
      // The network, or the session: the next look may succeed.
    }
  }
}
