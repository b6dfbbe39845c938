// A page without controls: plays an address in one of two players, changes rungs on the way, and tells what happened.

import { engines } from "./engines.js";
import { watch } from "./watch.js";

const video = document.getElementById("video");

/**
 * Plays `address` muted at normal speed; `read` then tells what happened so far.
 *
 * `start` and the `rung` of each switch are "smallest" or "largest" of what is played here; a `start` of "own" leaves the
 * choice to the player. A switch is made when playback has passed `at_s` and a picture of the rung that was chosen before it
 * has been shown: a player drops a choice that the next one overtakes. `toleratesStalls` makes it wait for a slow machine.
 */
window.begin = ({ engine, address, start, switches, toleratesStalls = false }) => {
  const player = engines[engine](video, start, toleratesStalls);
  const watched = watch(video);
  const due = [...switches];
  const chosen = [];
  video.addEventListener("loadedmetadata", () => {
    video.play().catch(() => {}); // not awaited: it stays open for as long as nothing comes
  });
  const isShown = () => watched.size() !== null && (chosen.length === 0 || watched.size() === chosen.at(-1));
  video.addEventListener("timeupdate", () => {
    if (due.length > 0 && video.currentTime >= due[0].at_s && isShown()) {
      const { id, width, height } = player.rungs().at(due.shift().rung === "smallest" ? 0 : -1);
      player.choose(id);
      chosen.push(`${width}x${height}`);
    }
  });
  window.read = () => ({ ...watched.read(), rungs: player.rungs(), chosen, errors: player.errors });
  player.load(address);
};
window.isReady = true;
