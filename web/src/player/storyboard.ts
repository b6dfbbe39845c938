// Pictures above the bar of time: a track of WebVTT whose cues name parts of a sheet. The controls look for a track with this label, and
// fetch the sheet when somebody points at the bar for the first time.

/** Shows the storyboard at `address` in every stream that `video` begins to play, as far as it has pictures. */
export function showStoryboard(video: HTMLVideoElement, address: string): void {
  // A track from elsewhere is only read where the element asks for it so; streams come over CORS anyway. To a page in a frame without an origin
  // its own server is elsewhere.
  if (new URL(address, document.baseURI).origin !== self.origin) video.crossOrigin = "anonymous";
  let track: HTMLTrackElement | null = null;
  // Not before: hls.js empties all tracks when it begins, and the first picture goes before what is pointed at later.
  video.addEventListener("loadedmetadata", () => {
    track?.remove();
    track = null;
    if (video.videoWidth === 0) return;
    track = document.createElement("track");
    track.kind = "metadata";
    track.label = "thumbnails";
    track.src = address;
    video.append(track);
    // Hidden ones are loaded, disabled ones are not.
    track.track.mode = "hidden";
  });
}
