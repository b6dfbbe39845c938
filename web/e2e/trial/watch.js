// Measures what a viewer of a `<video>` would notice, and its causes, in numbers.

/** Interval between two readings of the position. */
const LOOK_EVERY_MS = 50;
/** Without a new frame for this long, the image is still. */
const STILL_S = 0.75;
/** A position that advances by this much more than the clock is a jump, not a late reading. */
const JUMP_S = 0.2;

/**
 * Starts the observation, and the time to the first frame.
 *
 * A stall is a period in which less than half of its duration was played, after playback had started and
 * before it ended. Stalls between two readings are not reported. Chromium plays audio on without frames for
 * some seconds when video is missing: that is a still image, not a stall.
 */
export function watch(video) {
  const began_ms = performance.now();
  const seen = { firstFrameMs: null, stalls: [], still: [], jumps: [], sizes: [], rangesMax: 0, mediaError: null };
  let stall = null;
  let last = null;
  let picture_s = 0;

  const shown = () => (seen.firstFrameMs ??= Math.round(performance.now() - began_ms));
  const frame = (_, { mediaTime }) => {
    shown();
    if (mediaTime - picture_s > STILL_S) seen.still.push([round(picture_s), round(mediaTime)]);
    picture_s = mediaTime;
    const size = `${video.videoWidth}x${video.videoHeight}`; // after rotation, unlike the size of the frame
    if (seen.sizes.at(-1)?.size !== size) seen.sizes.push({ size, at_s: round(mediaTime) });
    video.requestVideoFrameCallback(frame);
  };
  video.requestVideoFrameCallback(frame);
  video.addEventListener("timeupdate", () => {
    if (video.videoWidth === 0 && video.currentTime > 0) shown(); // audio only
  });
  video.addEventListener("error", () => (seen.mediaError = `${video.error.code}: ${video.error.message}`));

  const settle = () => {
    if (stall !== null && stall.ms > LOOK_EVERY_MS) seen.stalls.push({ at_s: round(stall.at_s), ms: Math.round(stall.ms) });
    stall = null;
  };
  const standsStill = () => video.videoWidth > 0 && video.currentTime - picture_s > STILL_S;
  const look = () => {
    const now = { at_ms: performance.now(), position_s: video.currentTime };
    seen.rangesMax = Math.max(seen.rangesMax, video.buffered.length);
    if (last !== null && seen.firstFrameMs !== null && !video.paused) {
      const passed_ms = now.at_ms - last.at_ms;
      // Speed is 1 for any `playbackRate`: shaka-player sets it to 0 while it waits.
      const played_ms = 1_000 * (now.position_s - last.position_s);
      if (played_ms < 0 || played_ms > passed_ms + 1_000 * JUMP_S) {
        seen.jumps.push([round(last.position_s), round(now.position_s)]);
      }
      if (played_ms < passed_ms / 2) {
        stall ??= { at_s: last.position_s, ms: 0 };
        stall.ms += passed_ms - played_ms;
      } else settle();
    }
    if (video.ended) stall = null; // the rest of the last interval
    last = now;
  };
  setInterval(look, LOOK_EVERY_MS);

  return {
    /** The size of the last displayed frame, `null` before the first. */
    size: () => seen.sizes.at(-1)?.size ?? null,
    /** The observations so far, with a current stall and a current still image. */
    read() {
      const { totalVideoFrames, droppedVideoFrames } = video.getVideoPlaybackQuality();
      const open = stall === null ? [] : [{ at_s: round(stall.at_s), ms: Math.round(stall.ms) }];
      return {
        ...seen,
        stalls: [...seen.stalls, ...open],
        still: standsStill() ? [...seen.still, [picture_s, video.currentTime].map(round)] : seen.still,
        ended: video.ended,
        position: video.currentTime,
        duration: Number.isFinite(video.duration) ? video.duration : null,
        buffered: Array.from(video.buffered, (_, i) => [video.buffered.start(i), video.buffered.end(i)]),
        frames: { total: totalVideoFrames, dropped: droppedVideoFrames },
      };
    },
  };
}

function round(time_s) {
  return Number(time_s.toFixed(3));
}
