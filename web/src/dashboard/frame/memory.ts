// What this browser remembers: nothing secret.

const NAMES = ["theme", "workspace", "uploadsAtOnce"] as const;
type Name = (typeof NAMES)[number];

export function recall(name: Name): string | null {
  try {
    return localStorage.getItem(`kinora.${name}`);
  } catch {
    return null; // storage is off
  }
}

export function remember(name: Name, value: string): void {
  try {
    localStorage.setItem(`kinora.${name}`, value);
  } catch {
    // Storage is off or full.
  }
}

const PLACES = "kinora.places";

/** Places of lists, which last as long as the tab. */
export function placesStored(): unknown {
  try {
    return JSON.parse(sessionStorage.getItem(PLACES) ?? "null");
  } catch {
    return null; // storage is off
  }
}

export function storePlaces(rows: number[][]): void {
  try {
    sessionStorage.setItem(PLACES, JSON.stringify(rows));
  } catch {
    // Storage is off or full.
  }
}

/** For the sign-out: over plain HTTP browsers ignore `Clear-Site-Data`. */
export function forgetAll(): void {
  try {
    for (const name of NAMES) localStorage.removeItem(`kinora.${name}`);
    sessionStorage.removeItem(PLACES);
  } catch {
    // Storage is off.
  }
}
