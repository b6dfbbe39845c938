// What happens when an operation needs the password of the last 30 minutes: requests wait, a dialog asks for
// it.

import { PersonWait } from "./person-wait.js";

/** The reason of a 403 that a confirmation resolves. */
export const CONFIRMATION_NEEDED = "confirmation needed";

/** Ends with `true` when the server has accepted the password. */
export const confirmation = new PersonWait();
