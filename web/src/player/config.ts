// The values that the server writes into the page: the stream and its metadata.

/** The values of one page. They come from the server's template and are trusted like the server. */
export interface Config {
  /** URL of the multivariant playlist, with its token if the stream needs one. */
  manifest: string;
  /** URL of the poster; null for a media without one (audio). */
  poster: string | null;
  /** URL of the storyboard, a WebVTT file with thumbnails; null for a media without one (audio). */
  storyboard: string | null;
  /** Title of the media as plain text, or null. */
  title: string | null;
  /** BlurHash of the poster, or null. */
  blurHash: string | null;
}

/**
 * Reads the values from `<script type="application/json" id="kinora">`.
 *
 * Returns null if they are missing or invalid: the page was served without values.
 */
export function readConfig(page: Document): Config | null {
  try {
    const values: unknown = JSON.parse(page.getElementById("kinora")?.textContent ?? "");
    if (typeof values !== "object" || values === null) return null;
    const { manifest, poster, storyboard, title, blurHash } = values as Record<string, unknown>;
    if (typeof manifest !== "string" || manifest === "") return null;
    return {
      manifest,
      poster: textOrNull(poster),
      storyboard: textOrNull(storyboard),
      title: textOrNull(title),
      blurHash: textOrNull(blurHash),
    };
  } catch {
    return null;
  }
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
