// Short messages about what was done, in the one polite live region of the page.

import { useSyncExternalStore } from "react";

const SHOWN_MS = 6000;

interface Toast {
  id: number;
  message: string;
}

let toasts: Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

export function showToast(message: string): void {
  lastId += 1;
  const toast = { id: lastId, message };
  // The same message again replaces the first.
  change([...toasts.filter((shown) => shown.message !== message), toast]);
  setTimeout(() => change(toasts.filter(({ id }) => id !== toast.id)), SHOWN_MS);
}

export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => toasts);
  return (
    <div className="toasts" role="status">
      {shown.map(({ id, message }) => (
        <p key={id} className="toast">
          {message}
        </p>
      ))}
    </div>
  );
}

function change(next: Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
