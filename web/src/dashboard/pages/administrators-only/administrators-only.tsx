// In the place of a page that the person may not open. It requests nothing of that page.

import { useQuery } from "@tanstack/react-query";
import { peopleQuery } from "../../api/people.js";
import { Page } from "../../frame/page.js";
import { Outline } from "../../parts/outline.js";
import { LoadProblem, requestError } from "../../parts/problem.js";
import { organisationText } from "../../text/organisation.js";

export default function AdministratorsOnlyPage() {
  const people = useQuery(peopleQuery);
  const error = requestError(people.error);
  const administrators = people.data?.filter(({ role, isDisabled }) => role === "admin" && !isDisabled);
  return (
    <Page title={organisationText.only.title} lead={organisationText.only.lead}>
      {administrators ? (
        <ul className="list narrow">
          {administrators.map(({ id, name, email }) => (
            <li key={id}>
              <div className="words">
                {name !== null && <p className="strong">{name}</p>}
                <p className="small">
                  <a href={`mailto:${email}`}>{email}</a>
                </p>
              </div>
            </li>
          ))}
        </ul>
      ) : error === null ? (
        <Outline />
      ) : (
        <LoadProblem error={error} onRetry={() => void people.refetch()} />
      )}
    </Page>
  );
}
