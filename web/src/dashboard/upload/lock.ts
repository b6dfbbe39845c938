// One tab of a browser sends the uploads of a person: the one that holds the lock. When it closes, the next
// one gets it.

/** How often a tab renews its lease, or looks whether it can have it. Hidden tabs do it once a minute. */
const RENEW_EVERY_MS = 1_000;
/** A lease that was not renewed for so long belongs to a tab that has crashed. */
const LEASE_MS = 90_000;

/** Calls `onHeld` when this tab has the lock, and `onLost` if another tab has taken it. */
export function requestLock(personId: string, tab: string, onHeld: () => void, onLost: () => void): void {
  const name = `kinora.uploads.${personId}`;
  // Over plain HTTP there are no Web Locks.
  if ("locks" in navigator) {
    void navigator.locks.request(name, () => {
      onHeld();
      return new Promise<never>(() => {}); // until the page ends
    });
  } else {
    lease(name, tab, onHeld, onLost);
  }
}

/** A lock in `localStorage`. Two tabs that send the same upload do no harm: the server takes one request. */
function lease(name: string, tab: string, onHeld: () => void, onLost: () => void): void {
  let isHeld = false;
  const read = (): { tab: string; at: number } | null => {
    try {
      return JSON.parse(localStorage.getItem(name) ?? "null") as { tab: string; at: number } | null;
    } catch {
      return null;
    }
  };
  const renew = () => {
    const holder = read();
    const isFree = holder === null || Date.now() - holder.at > LEASE_MS;
    if (!isFree && holder.tab !== tab) {
      if (isHeld) onLost();
      isHeld = false;
      return;
    }
    try {
      localStorage.setItem(name, JSON.stringify({ tab, at: Date.now() }));
    } catch {
      // Without storage each tab has a queue of its own.
    }
    // The next look confirms it: another tab may have written at the same time.
    if (isHeld || holder?.tab !== tab) return;
    isHeld = true;
    onHeld();
  };
  renew();
  renew();
  setInterval(renew, RENEW_EVERY_MS);
  addEventListener("pagehide", () => {
    if (read()?.tab === tab) localStorage.removeItem(name);
  });
}
