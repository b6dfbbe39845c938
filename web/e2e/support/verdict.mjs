// What is wrong with what a trial saw: the rules by which a clip counts as played.

/** A viewer does not forgive a longer one. */
const STALL_MAX_MS = 1_000;
/** How far the end of what is buffered may lie from the end of the clip: sound ends up to a packet later. */
const END_S = 0.1;
/** Part of the frames that may be decoded twice or not at all where a rung changes. */
const FRAMES_OFF_MAX = 0.03;
/**
 * hls.js takes the first composition time for the begin of a segment and reads no edit list. So after a change of rung it may
 * load the segment again that ends within the composition shift of what is loaded, once, and reports that this gained nothing.
 * Whoever watches sees nothing of it.
 */
const LOADED_AGAIN = "passing, bufferAppendNoProgress";

/**
 * Sentences, none if it played: to its end at `seconds`, in one piece, without an error, a longer stall or a jump, in all of
 * `sizes` in this order, and with all of its `frames` if that is given. `seen` is what `perform` answers.
 */
export function faults(seen, { seconds, sizes, frames }) {
  const found = [];
  const { ended, position, duration, buffered, rangesMax } = seen;
  const errors = seen.errors.filter((error) => error !== LOADED_AGAIN);
  if (seen.errors.length - errors.length > seen.chosen.length) errors.push(LOADED_AGAIN);
  for (const error of [...errors, ...seen.pageErrors]) found.push(`error: ${error}`);
  if (seen.mediaError !== null) found.push(`error of the element: ${seen.mediaError}`);
  if (seen.firstFrameMs === null) found.push("no first frame");
  if (!ended) found.push(`did not end: it is at ${position} of ${duration} s`);
  for (const { at_s, ms } of seen.stalls) if (ms > STALL_MAX_MS) found.push(`stalled: ${ms} ms at ${at_s} s`);
  for (const [from_s, to_s] of seen.still) found.push(`the picture stood still: from ${from_s} to ${to_s} s`);
  for (const [from_s, to_s] of seen.jumps) found.push(`jumped: from ${from_s} to ${to_s} s`);
  if (rangesMax !== 1) found.push(`in pieces: up to ${rangesMax} ranges were buffered, ${JSON.stringify(buffered)} at the end`);
  const end_s = buffered.at(-1)?.[1] ?? 0;
  if (!(Math.abs(end_s - seconds) <= END_S)) found.push(`not all of it: buffered to ${end_s} of ${seconds} s`);
  const shown = seen.sizes.map(({ size }) => size);
  if (sizes.join() !== shown.join()) found.push(`other sizes: ${shown} in place of ${sizes}`);
  if (frames !== undefined && Math.abs(seen.frames.total / frames - 1) > FRAMES_OFF_MAX) {
    found.push(`other frames: ${seen.frames.total} in place of ${frames}`);
  }
  return found;
}
