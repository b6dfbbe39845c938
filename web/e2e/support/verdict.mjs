// Judges the observations of a trial: the rules by which a clip counts as played.

/**
 * Whether playback is also judged in real time: by stalls, and by late frames. Only an otherwise idle
 * machine can pass. The long suite does so, with `KINORA_E2E_ALL`.
 */
export const IS_TIMED = Boolean(process.env.KINORA_E2E_ALL);

/** The longest stall that viewers accept. */
const STALL_MAX_MS = 1_000;
/**
 * Largest distance between the end of the buffer and the end of the clip: audio ends up to a packet later.
 */
const END_S = 0.1;
/** Share of frames that may be decoded twice or not at all at a rung change. */
const FRAMES_OFF_MAX = 0.03;
/**
 * Reports of hls.js at a rung change, each at most once per change and invisible to viewers. hls.js uses the
 * first composition time as the start of a segment and reads no edit list. So it may load a segment again
 * that ends within the composition offset of the buffer, without progress. It also aborts a load when the
 * rung changes.
 */
const OF_A_CHANGE = ["passing, bufferAppendNoProgress", "passing, aborted"];
/** Reports of hls.js about a stall, which is judged by its length. */
const OF_A_STALL = ["passing, bufferStalledError", "passing, bufferNudgeOnStall"];

/**
 * Faults of the content as sentences; none if it played to its end at `seconds`, in one buffered range,
 * without an error, in all of `sizes` in this order, and with all of its `frames` if that number is defined.
 * `seen` is the result of `perform`. The speed of the machine does not matter.
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

/** Faults of the content, and of time: a longer stall, a still image, a jump. */
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
