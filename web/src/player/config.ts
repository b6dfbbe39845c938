// What the server writes into the page: which stream it plays and how it is called.

/** The values of one page. They come from the server's template and are trusted as far as the server is. */
export interface Config {
  /** Address of the multivariant playlist, with its token if the stream needs one. */
  manifest: string;
  /** Address of a still picture, or nothing for a media without one (audio). */
  poster: string | null;
  /** Address of a WebVTT with pictures of all its moments, or nothing for a media without them (audio). */
  storyboard: string | null;
  /** What the media is called, or nothing. Plain text. */
  title: string | null;
  /** What the poster looks like from afar, as BlurHash, or nothing. */
  blurHash: string | null;
}

/**
 * Reads the values from `<script type="application/json" id="kinora">`.
 *
 * Returns nothing if they are missing or broken: the page was served without being filled.
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
