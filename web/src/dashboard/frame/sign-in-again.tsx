// The dialog above a page whose session has ended. What was typed stays, and waiting requests go on.

import { useQueryClient } from "@tanstack/react-query";
import { sessionQuery } from "../api/queries.js";
import { sessionEnd } from "../api/session-end.js";
import type { Session } from "../api/types.js";
import { SignInForm } from "../pages/sign-in/form.js";
import { Button } from "../parts/button.js";
import { Dialog } from "../parts/dialog.js";
import { newDocument } from "./leave.js";
import { text } from "../text/en.js";

export function SignInAgain({ session }: { session: Session }) {
  const client = useQueryClient();
  const onSignedIn = (next: Session) => {
    if (next.person.id !== session.person.id) {
      newDocument("/dashboard/"); // nothing of the first person stays in memory
      return;
    }
    client.setQueryData(sessionQuery.queryKey, next);
    sessionEnd.end(true);
  };
  return (
    <Dialog title={text.again.title} onClose={() => sessionEnd.end(false)}>
      <p className="small soft">
        {text.again.lead} {text.again.other}
      </p>
      <SignInForm email={session.person.email} onSignedIn={onSignedIn} />
      <Button kind="plain" onClick={() => sessionEnd.end(false)}>
        {text.again.later}
      </Button>
    </Dialog>
  );
}
