// What the poster looks like from afar, drawn at once behind the video: it is in the page, and the poster takes a while.

import { decodeBlurHash } from "fast-blurhash";

/** Pixels of what is drawn; the browser makes it large and smooth. */
const SIZE = 32;

/** Shows `hash` behind `video` until there is a frame of it. */
export function showBlur(video: HTMLVideoElement, hash: string): void {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = SIZE;
  const context = canvas.getContext("2d");
  if (context === null) return;
  const picture = context.createImageData(SIZE, SIZE);
  picture.data.set(decodeBlurHash(hash, SIZE, SIZE));
  context.putImageData(picture, 0, 0);
  video.style.background = `center / 100% 100% url("${canvas.toDataURL()}")`;
  video.addEventListener("loadeddata", () => (video.style.background = ""), { once: true });
}
