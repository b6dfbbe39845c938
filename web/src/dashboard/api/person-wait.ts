// Requests that wait for the person of the page: a dialog asks, and the requests go on or reject.

import { useSyncExternalStore } from "react";

type Waiting = (isDone: boolean) => void;

/** One dialog for all requests that wait for the same thing. */
export class PersonWait {
  /** Number of pages that can show the dialog. Without one a request does not wait. */
  #pages = 0;
  #waiting: Waiting[] = [];
  readonly #listeners = new Set<() => void>();

  /** Resolves when the person has done what the dialog asks (`true`) or does not want to (`false`). */
  begin(): Promise<boolean> {
    if (this.#pages === 0) return Promise.resolve(false);
    return new Promise((resolve) => {
      this.#waiting = [...this.#waiting, resolve];
      this.#notify();
    });
  }

  /** Ends the wait of all requests. */
  end(isDone: boolean): void {
    const settled = this.#waiting;
    this.#waiting = [];
    this.#notify();
    for (const settle of settled) settle(isDone);
  }

  /** Says that a page can show the dialog, until the returned function is called. */
  readonly offer = (): (() => void) => {
    this.#pages += 1;
    return () => {
      this.#pages -= 1;
      if (this.#pages === 0) this.end(false);
    };
  };

  /** Whether requests wait. */
  readonly useIsWaitedFor = (): boolean => useSyncExternalStore(this.#subscribe, () => this.#waiting.length > 0);

  readonly #subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
