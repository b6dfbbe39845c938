// Uploads in the frame: takes files, asks for their settings, shows the tray, and keeps lists current.

import { useEffect, useRef } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { useLocation } from "wouter";
import { mediaListKey } from "../api/media-list.js";
import type { Workspace } from "../api/types.js";
import { isDocumentEnding } from "../frame/leave.js";
import type { Phase } from "../upload/item.js";
import { isUnfinished, mayRetry } from "../upload/item.js";
import { DropOverlay } from "./drop-overlay.js";
import { endArrival, setForgetUploads, setUnfinishedUploads, useArrival } from "./intake.js";
import { Sheet } from "./sheet.js";
import { Tray } from "./tray.js";
import { useQueue, useSnapshot } from "./use-queue.js";

export default function UploadHost({ workspace }: { workspace: Workspace }) {
  const [path] = useLocation();
  const arrival = useArrival();
  useFrameState();
  useCurrentLists();
  return (
    <>
      <DropOverlay workspace={workspace} />
      {arrival !== null && <Sheet workspace={workspace} arrival={arrival} onClose={endArrival} />}
      <Tray workspace={workspace} isHidden={path === `/w/${workspace.id}/uploads`} />
    </>
  );
}

/** Asks before the page is left while bytes are sent, and tells the frame what a sign-out would lose. */
function useFrameState(): void {
  const queue = useQueue();
  const { items } = useSnapshot();
  const count = items.filter((item) => isUnfinished(item) && (item.phase !== "failed" || mayRetry(item))).length;
  useEffect(() => setUnfinishedUploads(count), [count]);
  // The page of uploads opens while the server is away.
  useEffect(() => {
    if (count > 0) void import("../pages/uploads/uploads.js").catch(() => {});
  }, [count > 0]);
  useEffect(() => {
    setForgetUploads(() => queue.forget());
    const onUnload = (event: BeforeUnloadEvent) => {
      if (queue.isSending && !isDocumentEnding()) event.preventDefault();
    };
    addEventListener("beforeunload", onUnload);
    return () => removeEventListener("beforeunload", onUnload);
  }, [queue]);
}

/** Marks the lists and media of an upload as old when its phase changes. */
function useCurrentLists(): void {
  const client = useQueryClient();
  const { items } = useSnapshot();
  const phases = useRef(new Map<string, Phase>());
  useEffect(() => {
    for (const { id, phase, workspaceId, uploadId } of items) {
      const before = phases.current.get(id);
      phases.current.set(id, phase);
      if (before === undefined || before === phase || !["preparing", "ready", "failed"].includes(phase)) continue;
      void client.invalidateQueries({ queryKey: mediaListKey(workspaceId) });
      for (const key of [["newest media"], ["hasMedia"], ["uploads"], ["media", uploadId]]) {
        void client.invalidateQueries({ queryKey: ["workspace", workspaceId, ...key] });
      }
    }
  }, [client, items]);
}
