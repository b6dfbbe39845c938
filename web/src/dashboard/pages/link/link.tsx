// The page of a one-time link: set up an account, join, or choose a new password.

import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { linkQuery } from "../../api/queries.js";
import { Outline } from "../../parts/outline.js";
import { LoadProblem, requestError } from "../../parts/problem.js";
import { sentence, text } from "../../text/en.js";
import { DoorPage } from "../door-page.js";
import { LinkForm } from "./form.js";
import { useSecret } from "./secret.js";

export default function LinkPage() {
  const secret = useSecret();
  if (secret === "") return <DeadLink title={text.link.missingTitle} reason={text.link.missing} />;
  return <WholeLink key={secret} secret={secret} />;
}

function WholeLink({ secret }: { secret: string }) {
  const link = useQuery(linkQuery(secret));
  const error = requestError(link.error);
  if (error?.status === 404) return <DeadLink title={text.link.unknownTitle} reason={text.link.unknown} />;
  if (error?.status === 410) {
    return <DeadLink title={text.link.endedTitle} reason={sentence(error.description) || text.link.ended} />;
  }
  const kind = link.data?.kind;
  const lead = () => {
    if (link.data === undefined) return undefined;
    const { organisation, role, email } = link.data;
    return kind === "reset" ? text.link.reset(email) : text.link.setup(organisation.name, role);
  };
  return (
    <DoorPage title={kind === undefined ? text.link.looking : text.link.titles[kind]} lead={lead} fragment={`#${secret}`}>
      {() => {
        if (link.data) return <LinkForm link={link.data} secret={secret} />;
        return error === null ? <Outline /> : <LoadProblem error={error} onRetry={() => void link.refetch()} />;
      }}
    </DoorPage>
  );
}

/** A link that cannot be used: why, and how to get another one. */
function DeadLink({ title, reason }: { title: string; reason: string }) {
  return (
    <DoorPage title={title}>
      {() => (
        <div className="stack">
          <p role="alert">{reason}</p>
          <h2>{text.link.howToGet}</h2>
          <ul className="ways small soft">
            <li>{text.link.newInvitation}</li>
            <li>
              {text.link.newReset} <code className="mono">{text.link.commandFor.reset}</code>
            </li>
            <li>
              {text.link.newSetup} <code className="mono">{text.link.commandFor.setup}</code>
            </li>
          </ul>
          <Link className="button wide" href="/sign-in">
            {text.link.toSignIn}
          </Link>
        </div>
      )}
    </DoorPage>
  );
}
