// The account of the signed-in person.

import { useSession } from "../../api/queries.js";
import { Page } from "../../frame/page.js";
import { text } from "../../text/en.js";
import { Display } from "./display.js";
import { NewPassword } from "./password.js";
import { Profile } from "./profile.js";
import { Sessions } from "./sessions.js";

export default function AccountPage() {
  const { person, role, organisation } = useSession();
  return (
    <Page title={text.account.title} lead={text.account.lead(person.email, role, organisation.name)}>
      <div className="cards">
        <Profile />
        <NewPassword />
        <Sessions />
        <Display />
      </div>
    </Page>
  );
}
