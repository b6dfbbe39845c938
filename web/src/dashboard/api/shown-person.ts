// The person whose page is shown. Each request names them. The server rejects it if another person has signed
// in meanwhile, in another tab of this browser.

import { newDocument } from "../frame/leave.js";

/** The header with the id of the person. The server compares it with the session. */
const HEADER = "kinora-person";

let id: string | null = null;

export const shownPerson = {
  /** Remembers the person of this page. Another person gets a new document: nothing stays in memory. */
  set(person: string): void {
    if (id !== null && id !== person) shownPerson.reload();
    id = person;
  },

  /** The header of a request; none before the sign-in. */
  header(): Record<string, string> {
    return id === null ? {} : { [HEADER]: id };
  },

  reload(): void {
    newDocument("/dashboard/");
  },
};
