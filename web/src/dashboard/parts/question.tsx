// Asks whether something unsaved is given up. The button that keeps it comes first and has the focus.

import { Button } from "./button.js";
import { Dialog } from "./dialog.js";

export interface QuestionText {
  title: string;
  lead: string;
  stay: string;
  leave: string;
}

interface Props extends QuestionText {
  onStay: () => void;
  onLeave: () => void;
}

export function Question({ title, lead, stay, leave, onStay, onLeave }: Props) {
  return (
    <Dialog title={title} onClose={onStay}>
      <p className="small soft">{lead}</p>
      <div className="row end">
        <Button kind="primary" data-autofocus onClick={onStay}>
          {stay}
        </Button>
        <Button kind="danger" onClick={onLeave}>
          {leave}
        </Button>
      </div>
    </Dialog>
  );
}
