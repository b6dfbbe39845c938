// How far uploads are on the server, for a page that was reloaded.

import { findUploadUrl } from "../api/uploads.js";
import { ask } from "../../upload/status.js";
import { type Item, isUnfinished } from "./item.js";

/** Uploads that are asked about after a reload. */
const ASKED_MAX = 20;
/**
 * Rounds, and the pause between them. A reload ends a request, and the server stores its bytes a moment
 * later: the first round may find none of them.
 */
const ROUNDS = 3;
const PAUSE_MS = 5_000;

/** Reports the stored bytes of unfinished uploads. An upload whose status cannot be read is left out. */
export async function readOffsets(items: Item[], onOffset: (id: string, bytes: number) => void): Promise<void> {
  const begun = items.filter((item) => isUnfinished(item) && item.phase !== "failed" && item.uploadId !== null);
  for (let round = 0; round < ROUNDS && begun.length > 0; round += 1) {
    if (round > 0) await new Promise((passed) => setTimeout(passed, PAUSE_MS));
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
}
