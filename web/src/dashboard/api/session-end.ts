// What happens when a session ends while a page is open: requests wait, a dialog asks to sign in again.

import { PersonWait } from "./person-wait.js";

/** Ends with `true` when the same person has signed in again. */
export const sessionEnd = new PersonWait();
