// Whether viewers may download the sources of the selected media.

import { useState } from "react";
import { Button } from "../../../parts/button.js";
import { Choice } from "../../../parts/choice.js";
import { Dialog } from "../../../parts/dialog.js";
import { Form } from "../../../parts/form.js";
import { bulkText } from "../../../text/bulk.js";
import { text } from "../../../text/en.js";
import type { AskProps } from "./bulk.js";
import { setSourceAccess } from "./operations.js";

const words = bulkText.sourceAccess;

export function SourceAccessDialog({ workspace, media, onStart, onCancel }: AskProps) {
  const [value, setValue] = useState<"on" | "off">("off");
  return (
    <Dialog title={bulkText.titles.sourceAccess} onClose={onCancel}>
      <Form error={null} isBusy={false} onSubmit={() => onStart((chosen) => setSourceAccess(workspace.id, value === "on", chosen), media)}>
        <Choice label={words.label} names={words.names} hint={words.hint} value={value} onChange={setValue} />
        <div className="row end">
          <Button onClick={onCancel}>{text.cancel}</Button>
          <Button kind="primary" type="submit">
            {bulkText.change(media.length)}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
