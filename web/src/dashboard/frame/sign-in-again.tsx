// The dialog above a page whose session has ended. What was typed stays, and waiting requests go on.

import { useQueryClient } from "@tanstack/react-query";
import { endWait } from "../api/session-end.js";
import { sessionQuery } from "../api/queries.js";
import type { Session } from "../api/types.js";
import { SignInForm } from "../pages/sign-in/form.js";
import { Button } from "../parts/button.js";
import { Dialog } from "../parts/dialog.js";
import { text } from "../text/en.js";

export function SignInAgain({ session }: { session: Session }) {
  const client = useQueryClient();
  const onSignedIn = (next: Session) => {
    if (next.person.id !== session.person.id) {
      location.assign("/dashboard/"); // nothing of the first person stays in memory
      return;
    }
    client.setQueryData(sessionQuery.queryKey, next);
    endWait(true);
  };
  return (
    <Dialog title={text.again.title} onClose={() => endWait(false)}>
      <p className="small soft">
        {text.again.lead} {text.again.other}
      </p>
      <SignInForm email={session.person.email} onSignedIn={onSignedIn} />
      <Button kind="plain" onClick={() => endWait(false)}>
        {text.again.later}
      </Button>
    </Dialog>
  );
}
