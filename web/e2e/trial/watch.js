// What a viewer of a `<video>` would have noticed, and what is behind it, in numbers.

/** How often the position is looked at. */
const LOOK_EVERY_MS = 50;
/** A change of position by so much more than the time that went by is a jump, not a late look. */
const JUMP_S = 0.2;

/**
 * Watches from now on, `now` being the moment that the first frame is measured from.
 *
 * Of a stall is told how long: a time in which less than half of it was played although playback was wanted, had
 * begun and had not ended. Waits that a look does not catch are shorter than that and not told.
 */
export function watch(video) {
  const began = performance.now();
  const seen = { firstFrameMs: null, stallsMs: [], jumps: [], sizes: [], mediaError: null };
  let stall_ms = 0;
  let last = null;

  const shown = () => (seen.firstFrameMs ??= Math.round(performance.now() - began));
  const size = (_, { width, height }) => {
    shown();
    const name = `${width}x${height}`;
    if (seen.sizes.at(-1) !== name) seen.sizes.push(name);
    video.requestVideoFrameCallback(size);
  };
  video.requestVideoFrameCallback(size);
  video.addEventListener("timeupdate", () => {
    if (video.videoWidth === 0 && video.currentTime > 0) shown(); // sound alone
  });
  video.addEventListener("error", () => (seen.mediaError = `${video.error.code}: ${video.error.message}`));

  const settle = () => {
    if (stall_ms > LOOK_EVERY_MS) seen.stallsMs.push(Math.round(stall_ms));
    stall_ms = 0;
  };
  const look = () => {
    const now = { at_ms: performance.now(), position_s: video.currentTime };
    if (last !== null && seen.firstFrameMs !== null && !video.paused) {
      const passed_ms = now.at_ms - last.at_ms;
      const played_ms = (1_000 * (now.position_s - last.position_s)) / video.playbackRate;
      if (played_ms < 0 || played_ms > passed_ms + 1_000 * JUMP_S) {
        seen.jumps.push([last.position_s, now.position_s].map((time) => Number(time.toFixed(3))));
      }
      if (!video.ended && played_ms < passed_ms / 2) stall_ms += passed_ms - played_ms;
      else settle();
    }
    if (video.ended) settle();
    last = now;
  };
  setInterval(look, LOOK_EVERY_MS);
  return {
    read() {
      const { totalVideoFrames, droppedVideoFrames } = video.getVideoPlaybackQuality();
      return {
        ...seen,
        stallsMs: stall_ms > LOOK_EVERY_MS ? [...seen.stallsMs, Math.round(stall_ms)] : seen.stallsMs,
        ended: video.ended,
        position: video.currentTime,
        duration: Number.isFinite(video.duration) ? video.duration : null,
        buffered: Array.from(video.buffered, (_, i) => [video.buffered.start(i), video.buffered.end(i)]),
        frames: { total: totalVideoFrames, dropped: droppedVideoFrames },
      };
    },
  };
}
