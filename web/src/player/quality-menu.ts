// The menu of qualities and its button: media-chrome's, with the names that the server has for them.

import { MediaRenditionMenu } from "media-chrome/dist/menu/media-rendition-menu.js";

import { pNumber, qualities } from "./qualities.js";

type Item = Parameters<MediaRenditionMenu["formatRendition"]>[0];

/** Anchored to `#quality`: the name of this element is not the one that media-chrome would look for. */
class QualityMenu extends MediaRenditionMenu {
  override formatRendition({ id, width, height }: Item): string {
    return [...qualities].find((quality) => quality.id === id)?.label ?? `${pNumber(width ?? 0, height ?? 0)}p`;
  }

  /** Of the entry that leaves the choice to the player, which has no rendition: says what it chose. */
  override formatMenuItemText(text: string, rendition?: Item): string {
    if (rendition !== undefined || !(this.mediaWidth > 0 && this.mediaHeight > 0)) return text;
    return `Auto (${pNumber(this.mediaWidth, this.mediaHeight)}p)`;
  }
}
customElements.define("quality-menu", QualityMenu);

/** Shows on the button, and tells to screen readers, what plays now. */
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
