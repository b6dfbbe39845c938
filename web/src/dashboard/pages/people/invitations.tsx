// Open invitations, each with a button that takes it back.

import { useQuery } from "@tanstack/react-query";
import { invitationsQuery, useTakeBack } from "../../api/people.js";
import type { Invitation } from "../../api/types-organisation.js";
import { focusHeading } from "../../frame/page.js";
import { Button } from "../../parts/button.js";
import { Card } from "../../parts/card.js";
import { Outline } from "../../parts/outline.js";
import { FormProblem, LoadProblem, requestError } from "../../parts/problem.js";
import { Time } from "../../parts/time.js";
import { showToast } from "../../parts/toast.js";
import { text } from "../../text/en.js";
import { peopleText } from "../../text/people.js";

const words = peopleText.invitations;

export function Invitations() {
  const invitations = useQuery(invitationsQuery);
  const takeBack = useTakeBack();
  const error = requestError(invitations.error);
  const onTakenBack = () => {
    showToast(words.takenBack);
    focusHeading();
  };
  return (
    <Card title={words.title} lead={words.lead}>
      <FormProblem error={requestError(takeBack.error)} />
      {invitations.data ? (
        <Entries
          invitations={invitations.data}
          isBusy={takeBack.isPending}
          onTakeBack={(invitation) => takeBack.mutate(invitation, { onSuccess: onTakenBack })}
        />
      ) : error === null ? (
        <Outline lines={2} />
      ) : (
        <LoadProblem error={error} onRetry={() => void invitations.refetch()} />
      )}
    </Card>
  );
}

interface EntriesProps {
  invitations: Invitation[];
  isBusy: boolean;
  onTakeBack: (invitation: Invitation) => void;
}

function Entries({ invitations, isBusy, onTakeBack }: EntriesProps) {
  if (invitations.length === 0) return <p className="small soft">{words.none}</p>;
  return (
    <ul className="list">
      {invitations.map((invitation) => (
        <li key={invitation.id}>
          <div className="words">
            <p className="strong">{invitation.email}</p>
            <p className="xs faint">
              {text.role(invitation.role)}, {words.by} <bdi>{invitation.madeBy ?? words.commandLine}</bdi>, {words.ends} <Time at={invitation.endsAt} />
            </p>
          </div>
          <Button
            size="small"
            className="end"
            isBusy={isBusy}
            aria-label={words.takeBackOf(invitation.email)}
            onClick={() => onTakeBack(invitation)}
          >
            {words.takeBack}
          </Button>
        </li>
      ))}
    </ul>
  );
}
