// What is wrong with what a trial saw: the rules by which a clip counts as played.

/**
 * Whether playback is judged in real time too: by stalls, and by frames that came too late. Only a machine that does nothing else
 * can be held to that. The long suite is, with `KINORA_E2E_ALL`.
 */
export const IS_TIMED = Boolean(process.env.KINORA_E2E_ALL);

/** A viewer does not forgive a longer one. */
const STALL_MAX_MS = 1_000;
/** How far the end of what is buffered may lie from the end of the clip: sound ends up to a packet later. */
const END_S = 0.1;
/** Part of the frames that may be decoded twice or not at all where a rung changes. */
const FRAMES_OFF_MAX = 0.03;
/**
 * What hls.js reports of its own doing where a rung changes, each at most once a change, and whoever watches sees nothing of.
 * It takes the first composition time for the begin of a segment and reads no edit list, so it may load the segment again
 * that ends within the composition shift of what is loaded, which gains nothing; and it gives up a load that the change overtakes.
 */
const OF_A_CHANGE = ["passing, bufferAppendNoProgress", "passing, aborted"];
/** What hls.js reports of a stall, which is judged by its length. */
const OF_A_STALL = ["passing, bufferStalledError", "passing, bufferNudgeOnStall"];

/**
 * Sentences, none if the content is right: played to its end at `seconds`, in one piece, without an error, in all of `sizes` in this
 * order, and with all of its `frames` if that is given. `seen` is what `perform` answers. The speed of the machine plays no part.
 */
export function contentFaults(seen, { seconds, sizes, frames }) {
  const found = [];
  const { ended, position, duration, buffered, rangesMax } = seen;
  const errors = seen.errors.filter((error) => !OF_A_CHANGE.includes(error) && !isOfStall(error));
  for (const own of OF_A_CHANGE) {
    if (seen.errors.filter((error) => error === own).length > seen.chosen.length) errors.push(own);
  }
  for (const error of [...errors, ...seen.pageErrors]) found.push(`error: ${error}`);
  if (seen.mediaError !== null) found.push(`error of the element: ${seen.mediaError}`);
  if (seen.firstFrameMs === null) found.push("no first frame");
  if (!ended) found.push(`did not end: it is at ${position} of ${duration} s`);
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

/** Those of the content, and those of time: a longer stall, a picture that stood still, a jump. */
export function faults(seen, wanted) {
  const found = contentFaults(seen, wanted);
  for (const error of seen.errors.filter(isOfStall)) found.push(`error: ${error}`);
  for (const { at_s, ms } of seen.stalls) if (ms > STALL_MAX_MS) found.push(`stalled: ${ms} ms at ${at_s} s`);
  for (const [from_s, to_s] of seen.still) found.push(`the picture stood still: from ${from_s} to ${to_s} s`);
  for (const [from_s, to_s] of seen.jumps) found.push(`jumped: from ${from_s} to ${to_s} s`);
  return found;
}

function isOfStall(error) {
  return OF_A_STALL.some((name) => error.startsWith(name));
}
