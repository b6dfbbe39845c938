// Deletes the selected media. The dialog says what goes with them.

import { DangerDialog } from "../../../parts/danger-dialog.js";
import { bulkText } from "../../../text/bulk.js";
import { mediaText } from "../../../text/media.js";
import type { AskProps } from "./bulk.js";
import { deleteMedia } from "./operations.js";

/** Titles that are listed. */
const LISTED_MAX = 5;
/** Above this number of media it has to be typed. */
const UNTYPED_MAX = 10;

export function DeleteDialog({ workspace, media, onStart, onCancel }: AskProps) {
  const count = (of: (entry: (typeof media)[number]) => number) => media.reduce((sum, entry) => sum + of(entry), 0);
  const left = media.length - LISTED_MAX;
  return (
    <DangerDialog
      title={bulkText.delete.title(media.length)}
      button={bulkText.delete.button(media.length)}
      typed={media.length > UNTYPED_MAX ? String(media.length) : undefined}
      error={null}
      isBusy={false}
      onConfirm={() => onStart((chosen) => deleteMedia(workspace.id, chosen), media)}
      onClose={onCancel}
    >
      <ul className="titles">
        {media.slice(0, LISTED_MAX).map((entry) => (
          <li key={entry.id} className="clip" dir="auto">
            {mediaText.title(entry)}
          </li>
        ))}
        {left > 0 && <li>{bulkText.more(left)}</li>}
      </ul>
      <p>{bulkText.delete.lead(count(({ playbackIds }) => playbackIds.length), count(({ tracks }) => tracks.filter(({ type }) => type === "subtitle").length))}</p>
    </DangerDialog>
  );
}
