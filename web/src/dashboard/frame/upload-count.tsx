// Beside "Uploads" in the side bar: how many are unfinished, or how many have failed.

import { text } from "../text/en.js";
import { isUnfinished } from "../upload/item.js";
import { useSnapshot } from "../upload-ui/use-queue.js";

export default function UploadCount({ workspaceId }: { workspaceId: string }) {
  const { items } = useSnapshot();
  const open = items.filter((item) => item.workspaceId === workspaceId && isUnfinished(item));
  const failed = open.filter(({ phase }) => phase === "failed").length;
  if (open.length === 0) return null;
  const { unfinished, failedCount, failedOf } = text.nav.uploadCount;
  return (
    <span className={failed > 0 ? "count bad" : "count"}>
      <span aria-hidden>{failed > 0 ? failedCount(failed) : open.length}</span>
      <span className="unseen">{failed > 0 ? failedOf(failed, open.length) : unfinished(open.length)}</span>
    </span>
  );
}
