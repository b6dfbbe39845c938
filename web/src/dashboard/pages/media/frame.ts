// Looks into the player page of a frame, which has the same origin unless the public URL is another one.

/** The video element of the player; `null` if the page is of another origin or not loaded. */
export function videoOf(frame: HTMLIFrameElement | null): HTMLVideoElement | null {
  try {
    return frame?.contentDocument?.querySelector("video") ?? null;
  } catch {
    return null; // another origin
  }
}

/**
 * Whether the player may be loaded again: it shows an error, or nothing was played yet.
 *
 * A player that is paused in the middle keeps its position. One of another origin cannot be looked at, so it
 * stays too; its own "Try again" is the way out.
 */
export function canRenew(frame: HTMLIFrameElement | null): boolean {
  const video = videoOf(frame);
  if (video === null) return false;
  const notice = video.ownerDocument.getElementById("notice");
  const isStopped = notice !== null && !notice.hidden;
  return isStopped || (video.paused && video.currentTime === 0);
}
