// Two players behind one interface, so that a trial asks both the same.
//
// An engine has `load(address)`, `rungs()`, `choose(id)`, and `errors`, which fills with every error that the player
// reports: "fatal, ..." and, for those it gets over by itself, "passing, ...". A rung is `{id, width, height}`; they come
// sorted, smallest first, without those of more pixels than are played here.

/** Seconds that are loaded ahead: little, so that a clip of seconds still has something to load after a switch. */
const AHEAD_S = 3;
/** Larger pictures stall from decoding them in software. */
const PIXELS_MAX = 640 * 360;

/** Seconds of a stall after which hls.js seeks a little: never, for such a seek decodes frames twice. */
const NEVER_S = 3_600;

export const engines = { "hls.js": hlsJs, shaka };

/** hls.js. Begins with the smallest rung, with the largest, with the `own` choice of the player among all there are,
 * or with the first that is `listed`, as our page does. */
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
      hls.nextLevel = id; // what was loaded ahead is loaded again
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
    // By default it moves each segment to where the playlist has it, which hides wrong times of segments.
    manifest: { hls: { ignoreManifestTimestampsInSegmentsMode: true } },
    restrictions: start === "own" ? {} : { maxPixels: PIXELS_MAX },
    streaming: { bufferingGoal: AHEAD_S, stallEnabled: !toleratesStalls },
  });
  // It chooses once more, among rungs of one size. (It goes by bandwidth, and a copy may need less than a small rung.)
  player.addEventListener("manifestparsed", () => {
    if (start === "own") return;
    const { width, height } = variants().at(start === "smallest" ? 0 : -1);
    player.configure({ abr: { restrictions: { minPixels: width * height, maxPixels: width * height } } });
  });
  // Each is one of pictures together with one of sound.
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
