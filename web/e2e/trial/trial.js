// A page without controls: plays a URL in one of two players, changes rungs, and reports its observations.

import { engines } from "./engines.js";
import { watch } from "./watch.js";

const video = document.getElementById("video");

/**
 * Plays `address` muted at normal speed; `read` returns the observations so far.
 *
 * `start` and the `rung` of each switch are "smallest" or "largest" of the rungs that play here. A `start`
 * of "own" leaves the choice to the player. A switch happens after `at_s`, once a frame of the rung chosen
 * before has been shown: a player drops a choice that the next one replaces. `toleratesStalls` makes it wait
 * for a slow machine.
 */
window.begin = ({ engine, address, start, switches, toleratesStalls = false }) => {
  const player = engines[engine](video, start, toleratesStalls);
  const watched = watch(video);
  const due = [...switches];
  const chosen = [];
  video.addEventListener("loadedmetadata", () => {
    video.play().catch(() => {}); // not awaited: it is pending while no bytes arrive
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
