// Where a page has no media or no uploads yet: choose files, or drop them. The whole window takes drops
// (`drop-overlay.tsx`).

import { Upload } from "lucide-react";
import { Button } from "../parts/button.js";
import { uploadStartText } from "../text/upload-start.js";
import { openUploadPicker } from "./intake.js";

/** `isPrimary`: whether no other button of the page is the primary one. */
export function DropZone({ title = uploadStartText.title, isPrimary = true }: { title?: string; isPrimary?: boolean }) {
  return (
    <div className="empty drop-zone">
      <span className="glyph">
        <Upload className="i" aria-hidden />
      </span>
      <h2>{title}</h2>
      <div className="small soft">{uploadStartText.takenIn}</div>
      <Button kind={isPrimary ? "primary" : "default"} onClick={openUploadPicker}>
        {uploadStartText.choose}
      </Button>
    </div>
  );
}
