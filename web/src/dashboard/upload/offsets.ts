// How far uploads are on the server, for a page that was reloaded.

import { findUploadUrl } from "../api/uploads.js";
import { ask } from "../../upload/status.js";
import { type Item, isUnfinished } from "./item.js";

/** Uploads that are asked about after a reload. */
const ASKED_MAX = 20;

/** Reports the bytes that the server has of unfinished uploads. What cannot be asked is left out. */
export async function readOffsets(items: Item[], onOffset: (id: string, bytes: number) => void): Promise<void> {
  const begun = items.filter((item) => isUnfinished(item) && item.phase !== "failed" && item.uploadId !== null);
  for (const { id, workspaceId, uploadId } of begun.slice(0, ASKED_MAX)) {
    try {
      const url = await findUploadUrl(workspaceId, uploadId ?? "");
      const answer = url === null ? null : await ask(url);
      if (answer !== null && "status" in answer) onOffset(id, answer.status.keptBytes);
    } catch {
      // The network, or the session: the row shows the size alone.
    }
  }
}
