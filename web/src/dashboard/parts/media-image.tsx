// The still image of a media in a box of fixed ratio, so that nothing moves when it arrives. Until then the
// box has the colours of the BlurHash; audio, unfinished and failed media have an icon.

import { useEffect, useRef, useState } from "react";
import { decodeBlurHash } from "fast-blurhash";
import { AudioLines, CloudDownload, FileX, Film } from "lucide-react";
import { inWorkspace, urlOf } from "../api/client.js";
import type { Media } from "../api/media-types.js";

/** Pixels of the decoded BlurHash. */
const HASH_WIDTH = 32;
const HASH_HEIGHT = 18;

interface Props {
  media: Pick<Media, "id" | "workspaceId" | "status" | "isAudioOnly" | "blurHash" | "updatedAt">;
  /** Pixels of the file. */
  width?: number;
}

/** It says nothing: the title stands beside it. */
export function MediaImage({ media, width = 480 }: Props) {
  const [isLoaded, setLoaded] = useState(false);
  const [failedOf, setFailedOf] = useState<string | null>(null);
  const src = imageUrl(media, width);
  const hasImage = media.status === "Ready" && !media.isAudioOnly && failedOf !== src;
  if (!hasImage) {
    return (
      <span className={media.status === "Failed" ? "image failed" : "image"} aria-hidden>
        <Icon media={media} />
      </span>
    );
  }
  return (
    <span className="image" aria-hidden>
      {media.blurHash !== undefined && !isLoaded && <Hash value={media.blurHash} />}
      <img src={src} alt="" loading="lazy" decoding="async" onLoad={() => setLoaded(true)} onError={() => setFailedOf(src)} />
    </span>
  );
}

/** A new version of the media has a new address: the browser caches the file. */
export function imageUrl({ id, workspaceId, updatedAt }: Pick<Media, "id" | "workspaceId" | "updatedAt">, width: number): string {
  return urlOf(inWorkspace(workspaceId, `/media/${id}/picture.jpg?width=${width}&version=${encodeURIComponent(updatedAt)}`));
}

function Icon({ media: { status, isAudioOnly } }: Props) {
  if (status === "Failed") return <FileX className="i" />;
  if (status !== "Ready") return <CloudDownload className="i" />;
  return isAudioOnly ? <AudioLines className="i" /> : <Film className="i" />;
}

function Hash({ value }: { value: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context) return;
    const image = context.createImageData(HASH_WIDTH, HASH_HEIGHT);
    image.data.set(decodeBlurHash(value, HASH_WIDTH, HASH_HEIGHT));
    context.putImageData(image, 0, 0);
  }, [value]);
  return <canvas ref={canvas} width={HASH_WIDTH} height={HASH_HEIGHT} />;
}
