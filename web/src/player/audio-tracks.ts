// The audio tracks of a manifest, to choose from: what browsers call `video.audioTracks` and offer only where they play HLS by
// themselves. hls.js knows the tracks, the controls ask the video element: this is the list between them.

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

/** What a viewer chose last, so that a player that begins anew goes on with it. */
export interface AudioChoice {
  lang?: string;
  name: string;
}

/** As `AudioTrackList` of HTML, with what the controls use of it. */
class AudioTracks extends EventTarget {
  #tracks: AudioTrack[] = [];
  #choice: AudioChoice | undefined;

  get length(): number {
    return this.#tracks.length;
  }

  /** What the viewer chose; `undefined` before the first choice. */
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
      // One plays, always: a track is left by choosing another.
      set enabled(enabled: boolean) {
        if (enabled) select(track, index);
      },
    }));
    this.dispatchEvent(new Event(found.length > 0 ? "addtrack" : "removetrack"));
  }
}

/** The list of the page's video element. */
export const audioTracks = new AudioTracks();

// The controls look for the list once, when they are defined: so this module is the first that the page imports. Where the browser
// plays HLS by itself it has a list of its own.
const video = document.getElementById("video");
if (video !== null && Hls.isSupported()) Object.defineProperty(video, "audioTracks", { value: audioTracks });
