// The list of audio tracks of a manifest, as `video.audioTracks`. Browsers offer it only where they play HLS
// natively. It connects hls.js, which has the tracks, with the controls, which ask the video element.

import Hls, { type MediaPlaylist } from "hls.js";

/** One audio track. Setting `enabled` switches to it. */
export interface AudioTrack {
  readonly id: string;
  readonly kind: "main" | "alternative";
  readonly label: string;
  /** BCP 47 tag; empty when unknown. */
  readonly language: string;
  enabled: boolean;
}

/** The last choice of the viewer, applied again when the player restarts. */
export interface AudioChoice {
  lang?: string;
  name: string;
}

/** Like `AudioTrackList` of HTML, as far as the controls use it. */
class AudioTracks extends EventTarget {
  #tracks: AudioTrack[] = [];
  #choice: AudioChoice | undefined;

  get length(): number {
    return this.#tracks.length;
  }

  /** The choice of the viewer; `undefined` before the first one. */
  get choice(): AudioChoice | undefined {
    return this.#choice;
  }

  [Symbol.iterator](): Iterator<AudioTrack> {
    return this.#tracks[Symbol.iterator]();
  }

  /** Lists the tracks that `hls` finds, until it is destroyed. */
  follow(hls: Hls): void {
    hls.on(Hls.Events.AUDIO_TRACKS_UPDATED, (_, { audioTracks }) => this.#list(hls, audioTracks));
    hls.on(Hls.Events.AUDIO_TRACK_SWITCHING, () => this.dispatchEvent(new Event("change")));
    hls.on(Hls.Events.DESTROYING, () => this.#list(hls, []));
  }

  #list(hls: Hls, found: MediaPlaylist[]): void {
    const select = (track: MediaPlaylist, index: number) => {
      this.#choice = { name: track.name, ...(track.lang === undefined ? {} : { lang: track.lang }) };
      if (hls.audioTrack !== index) hls.audioTrack = index;
    };
    this.#tracks = found.map((track, index) => ({
      id: String(index),
      kind: track.default ? "main" : "alternative",
      label: track.name,
      language: track.lang ?? "",
      get enabled() {
        return hls.audioTrack === index;
      },
      // One track always plays: selecting another one deselects it.
      set enabled(enabled: boolean) {
        if (enabled) select(track, index);
      },
    }));
    this.dispatchEvent(new Event(found.length > 0 ? "addtrack" : "removetrack"));
  }
}

/** The list of the page's video element. */
export const audioTracks = new AudioTracks();

// The controls look for the list once, when they are defined, so the page imports this module first. A
// browser that plays HLS natively has its own list.
const video = document.getElementById("video");
if (video !== null && Hls.isSupported()) Object.defineProperty(video, "audioTracks", { value: audioTracks });
