// Observes the player page from outside: buffer, frames, errors, requests.

/**
 * How hls.js names a stall by network or CPU, its reaction to one, and a segment that it loads although the
 * time is buffered already: after two rung changes in a row.
 */
const OF_A_STALL = ["bufferStalledError", "bufferNudgeOnStall", "bufferAppendNoProgress"];

/**
 * Records the reports of the page from its start. Call it before the page is opened.
 *
 * Returns lists that grow while the page lives: `requests` (URLs), `console` (console errors, among them
 * every violation of the Content-Security-Policy).
 */
export async function observe(page) {
  const seen = { requests: [], console: [] };
  page.on("request", (request) => seen.requests.push(request.url()));
  page.on("console", (message) => message.type() === "error" && seen.console.push(message.text()));
  page.on("pageerror", (error) => seen.console.push(String(error)));
  await page.addInitScript(() => {
    const facts = { errors: [], stalls: 0, firstFrameMs: null, playAt: null };
    window.observed = facts;
    window.noticeShown = () => document.getElementById("notice")?.hidden === false;
    const on = (name, listener) => document.addEventListener(name, listener, true);

    on("kinora:error", (event) => facts.errors.push(event.detail));
    on("play", () => (facts.playAt ??= performance.now()));
    on("playing", ({ target: video }) => {
      const shown = () => (facts.firstFrameMs ??= Math.round(performance.now() - facts.playAt));
      if (video.videoWidth > 0) video.requestVideoFrameCallback(shown);
      else shown();
    });
    // A wait is a stall if playback had started and the viewer did not seek.
    on("waiting", ({ target: video }) => {
      if (facts.firstFrameMs !== null && !video.seeking && !video.ended) facts.stalls += 1;
    });
  });
  return seen;
}

/**
 * The state of the page's video and everything recorded so far. Times are in seconds of media time.
 *
 * `stalls` depends on the speed of the machine. `errors` does not: it has no reports of stalls that are not
 * fatal.
 */
export async function readState(page) {
  return page.evaluate((ofStall) => {
    const video = document.querySelector("video");
    const frames = video.getVideoPlaybackQuality();
    const notice = document.getElementById("notice");
    const isOfStall = ({ fatal, name }) => !fatal && ofStall.includes(name);
    return {
      currentTime: video.currentTime,
      duration: Number.isFinite(video.duration) ? video.duration : null,
      ended: video.ended,
      buffered: Array.from(video.buffered, (_, i) => [video.buffered.start(i), video.buffered.end(i)]),
      width: video.videoWidth,
      height: video.videoHeight,
      videoFrames: { total: frames.totalVideoFrames, dropped: frames.droppedVideoFrames },
      audioTracks: Array.from(video.audioTracks ?? [], ({ label, language, enabled }) => ({ label, language, enabled })),
      firstFrameMs: window.observed.firstFrameMs,
      stalls: window.observed.stalls + window.observed.errors.filter(isOfStall).length,
      errors: window.observed.errors.filter((error) => !isOfStall(error)),
      notice: notice.hidden ? null : notice.querySelector("h2").textContent,
    };
  }, OF_A_STALL);
}

/**
 * Presses play, muted, and resolves when playback ends, passes `until_s`, or fails with a message. With
 * `pauses` it pauses there. `rate` is the speed. Rejects after `timeout_ms`.
 */
export async function playUntil(page, { until_s = Number.POSITIVE_INFINITY, from_s = 0, rate = 1, pauses = false, timeout_ms }) {
  await page.waitForFunction(
    () => document.querySelector("video")?.readyState >= HTMLMediaElement.HAVE_METADATA || noticeShown(),
    undefined,
    { timeout: timeout_ms },
  );
  await page.evaluate(({ from_s, rate }) => {
    const video = document.querySelector("video");
    if (video.readyState < HTMLMediaElement.HAVE_METADATA) return;
    video.muted = true;
    video.playbackRate = rate;
    if (from_s > 0) video.currentTime = from_s;
    video.play().catch(() => {}); // not awaited: it is pending while no bytes arrive
  }, { from_s, rate });
  await page.waitForFunction(
    ({ until_s, pauses }) => {
      const video = document.querySelector("video");
      const isThere = video.ended || video.currentTime >= until_s || noticeShown();
      if (isThere && pauses) video.pause();
      return isThere;
    },
    { until_s, pauses },
    { timeout: timeout_ms, polling: 100 },
  );
}
