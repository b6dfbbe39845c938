// What a viewer of a `<video>` would have noticed, and what is behind it, in numbers.

/** How often the position is looked at. */
const LOOK_EVERY_MS = 50;
/** Without a new picture for so long it stands still. */
const STILL_S = 0.75;
/** A change of position by so much more than the time that went by is a jump, not a late look. */
const JUMP_S = 0.2;

/**
 * Watches from now on, which is also the moment that the first frame is measured from.
 *
 * A stall is a time in which less than half of it was played although playback had begun and had not ended. Those that pass
 * between two looks are not told. Chromium plays on without pictures for some seconds where they are missing and sound is not:
 * that is not a stall, but among the times when the picture stood still.
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
    const size = `${video.videoWidth}x${video.videoHeight}`; // turned as it is shown, unlike that of the frame
    if (seen.sizes.at(-1)?.size !== size) seen.sizes.push({ size, at_s: round(mediaTime) });
    video.requestVideoFrameCallback(frame);
  };
  video.requestVideoFrameCallback(frame);
  video.addEventListener("timeupdate", () => {
    if (video.videoWidth === 0 && video.currentTime > 0) shown(); // sound alone
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
      // At speed 1 whatever `playbackRate` says: shaka-player sets it to 0 while it waits.
      const played_ms = 1_000 * (now.position_s - last.position_s);
      if (played_ms < 0 || played_ms > passed_ms + 1_000 * JUMP_S) {
        seen.jumps.push([round(last.position_s), round(now.position_s)]);
      }
      if (played_ms < passed_ms / 2) {
        stall ??= { at_s: last.position_s, ms: 0 };
        stall.ms += passed_ms - played_ms;
      } else settle();
    }
    if (video.ended) stall = null; // the rest of the last look
    last = now;
  };
  setInterval(look, LOOK_EVERY_MS);

  return {
    /** The size of the picture that was shown last, `null` before the first. */
    size: () => seen.sizes.at(-1)?.size ?? null,
    /** What was seen so far. A stall that is not over counts, and so does a picture that stands still. */
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
