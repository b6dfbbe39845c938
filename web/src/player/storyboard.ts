// Thumbnails above the timeline: a WebVTT track whose cues name parts of a sprite sheet. The controls look
// for a track with this label. They fetch the sprite sheet when the viewer first points at the timeline.

/** Shows the storyboard at `address` in every stream that `video` plays, if the stream has video. */
export function showStoryboard(video: HTMLVideoElement, address: string): void {
  // A cross-origin track loads only if the element allows CORS; streams use CORS anyway. In a frame without
  // an origin, the page's own server is cross-origin.
  if (new URL(address, document.baseURI).origin !== self.origin) video.crossOrigin = "anonymous";
  let track: HTMLTrackElement | null = null;
  // Not earlier: hls.js clears all tracks when it starts.
  video.addEventListener("loadedmetadata", () => {
    track?.remove();
    track = null;
    if (video.videoWidth === 0) return;
    track = document.createElement("track");
    track.kind = "metadata";
    track.label = "thumbnails";
    track.src = address;
    video.append(track);
    // Hidden tracks are loaded, disabled ones are not.
    track.track.mode = "hidden";
  });
}
