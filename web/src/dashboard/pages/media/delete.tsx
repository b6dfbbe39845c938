// The dialog before a media is deleted: what goes with it.

import { useDeleteMedia } from "../../api/media.js";
import type { Media } from "../../api/media-types.js";
import { DangerDialog } from "../../parts/danger-dialog.js";
import { requestError } from "../../parts/problem.js";
import { showToast } from "../../parts/toast.js";
import { mediaPageText } from "../../text/media-page.js";
import { mediaText } from "../../text/media.js";

const words = mediaPageText.remove;

export function Delete({ media, onDeleted, onClose }: { media: Media; onDeleted: () => void; onClose: () => void }) {
  const remove = useDeleteMedia(media);
  const confirm = () =>
    remove.mutate(undefined, {
      onSuccess: () => {
        showToast(words.done);
        onClose();
        onDeleted();
      },
    });
  return (
    <DangerDialog
      title={words.title(mediaText.title(media))}
      button={words.button}
      error={requestError(remove.error)}
      isBusy={remove.isPending}
      onConfirm={confirm}
      onClose={onClose}
    >
      <ul className="effects">
        {words.effects(media).map((effect) => (
          <li key={effect}>{effect}</li>
        ))}
      </ul>
    </DangerDialog>
  );
}
