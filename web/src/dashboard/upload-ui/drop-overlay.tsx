// Shows where files go while they are dragged, and takes them. The whole window is the target.

import { useEffect, useState } from "react";
import { Upload } from "lucide-react";
import type { Workspace } from "../api/types.js";
import { uploadsText } from "../text/uploads.js";
import { readDrop } from "../upload/files.js";
import { arrive } from "./intake.js";

export function DropOverlay({ workspace }: { workspace: Workspace }) {
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") === true;
    // The sheet of an upload takes more files; other dialogs take none.
    const isTaken = () => document.querySelector("dialog[open]:not(.sheet)") === null;
    const onOver = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault(); // otherwise the browser would open the file
      if (isTaken()) setOver(true);
      else if (event.dataTransfer !== null) event.dataTransfer.dropEffect = "none";
    };
    const onLeave = (event: DragEvent) => {
      if (event.relatedTarget === null) setOver(false); // it has left the window
    };
    const onDrop = (event: DragEvent) => {
      setOver(false);
      if (event.dataTransfer === null || !hasFiles(event)) return;
      event.preventDefault();
      if (!isTaken()) return;
      void readDrop(event.dataTransfer).then((dropped) => {
        if (dropped.chosen.length + dropped.leftOut + dropped.unreadable.length > 0) arrive(dropped);
      });
    };
    addEventListener("dragenter", onOver);
    addEventListener("dragover", onOver);
    addEventListener("dragleave", onLeave);
    addEventListener("drop", onDrop);
    return () => {
      removeEventListener("dragenter", onOver);
      removeEventListener("dragover", onOver);
      removeEventListener("dragleave", onLeave);
      removeEventListener("drop", onDrop);
    };
  }, []);
  if (!isOver) return null;
  return (
    <div className="drop-overlay" aria-hidden>
      <div>
        <Upload className="i" aria-hidden />
        <b>{uploadsText.drop.title}</b>
        <span className="small">{uploadsText.drop.to(workspace.name)}</span>
      </div>
    </div>
  );
}
