// The people of the organisation. All roles see them; administrators change them.

import { useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { UserPlus } from "lucide-react";
import { type MadeLink, peopleQuery } from "../../api/people.js";
import { useSession } from "../../api/queries.js";
import { focusHeading, Page } from "../../frame/page.js";
import { AskBeforeLeaving } from "../../parts/ask-before-leaving.js";
import { Button } from "../../parts/button.js";
import { Outline } from "../../parts/outline.js";
import { LoadProblem, requestError } from "../../parts/problem.js";
import { text } from "../../text/en.js";
import { peopleText } from "../../text/people.js";
import { Invitations } from "./invitations.js";
import { InvitePanel } from "./invite-panel.js";
import { LinkPanel } from "./link-panel.js";
import { PeopleTable } from "./people-table.js";

interface ShownLink extends MadeLink {
  isCopied: boolean;
}

export default function PeoplePage() {
  const mayManage = useSession().actions.includes("people.manage");
  const people = useQuery(peopleQuery);
  const error = requestError(people.error);
  const [isInviting, setInviting] = useState(false);
  /** New links, the newest first: in no cache. A further link replaces those that were copied. */
  const [links, setLinks] = useState<ShownLink[]>([]);
  const addLink = (link: MadeLink) => {
    setInviting(false);
    setLinks((before) => [{ ...link, isCopied: false }, ...before.filter(({ isCopied }) => !isCopied)]);
  };
  const setCopied = (url: string) =>
    setLinks((before) => before.map((link) => (link.url === url ? { ...link, isCopied: true } : link)));
  const closeLink = (url: string) => {
    setLinks((before) => before.filter((link) => link.url !== url));
    focusHeading();
  };
  const closeForm = () => {
    setInviting(false);
    focusHeading();
  };
  return (
    <Page
      title={text.nav.people}
      lead={peopleText.lead}
      actions={
        mayManage &&
        !isInviting && (
          <Button kind="primary" onClick={() => setInviting(true)}>
            <UserPlus className="i" aria-hidden />
            {peopleText.invite.open}
          </Button>
        )
      }
    >
      {mayManage && isInviting && <InvitePanel onMade={addLink} onClose={closeForm} />}
      {mayManage &&
        links.map((link) => (
          <LinkPanel key={link.url} link={link} isCopied={link.isCopied} onCopied={() => setCopied(link.url)} onClose={() => closeLink(link.url)} />
        ))}
      {mayManage && links.length > 0 && (
        <AskBeforeLeaving isOn={links.some(({ isCopied }) => !isCopied)} {...peopleText.link.leaving} />
      )}
      <div className="stack">
        {people.data ? (
          <PeopleTable people={people.data} mayManage={mayManage} onLink={addLink} />
        ) : error === null ? (
          <Outline lines={5} />
        ) : (
          <LoadProblem error={error} onRetry={() => void people.refetch()} />
        )}
        {mayManage && <Invitations />}
      </div>
    </Page>
  );
}
