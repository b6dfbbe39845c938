// The menu of qualities and its button: those of media-chrome, with the server's names of the qualities.

import { MediaRenditionMenu } from "media-chrome/dist/menu/media-rendition-menu.js";

import { pNumber, qualities } from "./qualities.js";

type Item = Parameters<MediaRenditionMenu["formatRendition"]>[0];

/** Anchored to `#quality`, because media-chrome would look for another element name. */
class QualityMenu extends MediaRenditionMenu {
  override formatRendition({ id, width, height }: Item): string {
    return [...qualities].find((quality) => quality.id === id)?.label ?? `${pNumber(width ?? 0, height ?? 0)}p`;
  }

  /** Text of the automatic entry, which has no rendition: shows the quality that plays. */
  override formatMenuItemText(text: string, rendition?: Item): string {
    if (rendition !== undefined || !(this.mediaWidth > 0 && this.mediaHeight > 0)) return text;
    return `Auto (${pNumber(this.mediaWidth, this.mediaHeight)}p)`;
  }
}
customElements.define("quality-menu", QualityMenu);

/** Shows the current quality on the button and in its label for screen readers. */
export function showQuality(video: HTMLVideoElement, button: HTMLElement, text: HTMLElement): void {
  const show = () => {
    const isKnown = video.videoWidth > 0;
    const name = `${pNumber(video.videoWidth, video.videoHeight)}p`;
    text.textContent = isKnown ? name : "Auto";
    button.setAttribute("aria-label", isKnown ? `Quality ${name}` : "Quality");
  };
  video.addEventListener("resize", show);
  video.addEventListener("loadedmetadata", show);
  show();
}
