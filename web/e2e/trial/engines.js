// Two players behind one interface, so that a trial can use either.
//
// An engine has `load(address)`, `rungs()`, `choose(id)`, and `errors`. `errors` collects every error that
// the player reports: "fatal, ..." and, if the player recovers, "passing, ...". A rung is
// `{id, width, height}`. Rungs are sorted, smallest first, without those above `PIXELS_MAX`.

/** Buffer in seconds: small, so that a clip of some seconds still has something to load after a switch. */
const AHEAD_S = 3;
/** Larger frames stall in software decoding. */
const PIXELS_MAX = 640 * 360;

/** Seconds of a stall after which hls.js seeks a little: never, because such a seek decodes frames twice. */
const NEVER_S = 3_600;

export const engines = { "hls.js": hlsJs, shaka };

/**
 * hls.js. Starts with the "smallest" or the "largest" rung, with the player's "own" choice among all rungs,
 * or with the first one "listed", as our page does.
 */
function hlsJs(video, start, toleratesStalls) {
  const hls = new Hls({
    enableWorker: false,
    autoStartLoad: false,
    maxBufferLength: AHEAD_S,
    maxMaxBufferLength: AHEAD_S,
    ...(toleratesStalls ? { highBufferWatchdogPeriod: NEVER_S } : {}),
  });
  const errors = [];
  const rungs = () =>
    hls.levels
      .map(({ width, height }, id) => ({ id, width, height }))
      .filter(({ width, height }) => !(width * height > PIXELS_MAX));
  hls.on(Hls.Events.ERROR, (_, { details, fatal, response, reason }) => {
    errors.push([fatal ? "fatal" : "passing", details, response?.code, reason].filter(Boolean).join(", "));
  });
  hls.on(Hls.Events.MANIFEST_PARSED, () => {
    if (start === "listed") hls.startLevel = hls.firstLevel;
    else if (start !== "own") hls.loadLevel = rungs().at(start === "smallest" ? 0 : -1).id;
    hls.startLoad();
  });
  return {
    errors,
    rungs,
    load(address) {
      hls.loadSource(address);
      hls.attachMedia(video);
    },
    choose(id) {
      hls.nextLevel = id; // the buffer is loaded again
    },
  };
}

/** shaka-player. */
function shaka(video, start, toleratesStalls) {
  const { shaka: library } = window;
  library.polyfill.installAll();
  const player = new library.Player();
  const errors = [];
  const note = ({ code, severity, data, message }) => {
    errors.push(code === undefined ? `fatal, ${message}` : `${severity === 2 ? "fatal" : "passing"}, ${code}, ${data}`);
  };
  player.addEventListener("error", ({ detail }) => note(detail));
  player.configure({
    abr: { enabled: start === "own" },
    // By default it moves each segment to its time in the playlist, which hides wrong times in segments.
    manifest: { hls: { ignoreManifestTimestampsInSegmentsMode: true } },
    restrictions: start === "own" ? {} : { maxPixels: PIXELS_MAX },
    streaming: { bufferingGoal: AHEAD_S, stallEnabled: !toleratesStalls },
  });
  // The adaptive algorithm still chooses among rungs of one size. (It compares bandwidths, and a copy may
  // need less than a small rung.)
  player.addEventListener("manifestparsed", () => {
    if (start === "own") return;
    const { width, height } = variants().at(start === "smallest" ? 0 : -1);
    player.configure({ abr: { restrictions: { minPixels: width * height, maxPixels: width * height } } });
  });
  // Each is a combination of video and audio.
  const variants = () => {
    const all = player.getVariantTracks().filter(({ width, height }) => width * height <= PIXELS_MAX);
    const { audioId } = all.find(({ active }) => active) ?? {};
    return all.filter((track) => track.audioId === audioId).sort((a, b) => a.width * a.height - b.width * b.height);
  };
  return {
    errors,
    rungs: () => variants().map(({ id, width, height }) => ({ id, width, height })),
    async load(address) {
      try {
        await player.attach(video);
        await player.load(address);
      } catch (error) {
        note(error);
      }
    },
    choose(id) {
      const track = variants().find((track) => track.id === id);
      player.selectVariantTrack(track);
    },
  };
}
