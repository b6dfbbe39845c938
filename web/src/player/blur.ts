// Draws the BlurHash behind the video at once. It is part of the page; the poster loads later.

import { decodeBlurHash } from "fast-blurhash";

/** Width and height of the drawing in pixels; the browser scales it smoothly. */
const SIZE = 32;

/** Shows `hash` behind `video` until the first frame. */
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
