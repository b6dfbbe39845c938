// The request that a form sends, as curl.

import { useQuery } from "@tanstack/react-query";
import { doorQuery } from "../../api/queries.js";
import { CopyBlock } from "../../parts/copy.js";
import { mediaPageText } from "../../text/media-page.js";
import { curl } from "./requests.js";

interface Props {
  method: string;
  /** Below `/v1`. */
  path: string;
  body?: unknown;
}

export function Request({ method, path, body }: Props) {
  const { data: door } = useQuery(doorQuery);
  if (!door) return null;
  return (
    <details className="request">
      <summary className="small soft">{mediaPageText.edit.request}</summary>
      <CopyBlock value={curl(`${door.publicUrl}/v1${path}`, method, body)} what={mediaPageText.edit.request} />
    </details>
  );
}
