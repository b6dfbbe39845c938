// The signed-in person: account, look, times, sign out.

import { useState } from "react";
import { Ellipsis, LogOut, UserRound } from "lucide-react";
import { Link } from "wouter";
import { useChangeSettings, useSignOut } from "../api/queries.js";
import type { Session } from "../api/types.js";
import { Button } from "../parts/button.js";
import { Choice } from "../parts/choice.js";
import { Dialog } from "../parts/dialog.js";
import { Menu } from "../parts/menu.js";
import { showToast } from "../parts/toast.js";
import { text } from "../text/en.js";
import { uploadStartText } from "../text/upload-start.js";
import { useUnfinishedUploads } from "../upload-ui/intake.js";
import { useSettings } from "./settings.js";

export function UserMenu({ session, isPlain = false }: { session: Session; isPlain?: boolean }) {
  const { person, role } = session;
  const name = person.name ?? person.email;
  const { theme, times } = useSettings();
  const change = useChangeSettings();
  const signOut = useSignOut();
  const uploads = useUnfinishedUploads();
  const [isAsking, setAsking] = useState(false);
  const endSession = () => signOut.mutate(undefined, { onError: () => showToast(text.nav.signOutFailed) });
  const set = (setting: Partial<typeof person.settings>) =>
    change.mutate(setting, { onError: () => showToast(text.error.other) });
  const words = uploadStartText.signOut;
  return (
    <>
      <Menu
        label={text.nav.userMenu}
        className={isPlain ? "plainwho" : "who"}
        button={
          <>
            <span className="unseen">{text.nav.userMenuOf(isPlain ? name : "")}</span>
            <span className="avatar" data-initials={initials(name)} aria-hidden />
            {!isPlain && (
              <>
                <span className="stack none">
                  <span className="small strong clip">{name}</span>
                  <span className="xs faint">{text.role(role)}</span>
                </span>
                <Ellipsis className="i end faint" aria-hidden />
              </>
            )}
          </>
        }
      >
        <p className="title clip">{person.email}</p>
        <Link href="/account" className="item" data-closes>
          <UserRound className="i" aria-hidden />
          {text.nav.account}
        </Link>
        <hr />
        <Choice label={text.look.label} names={text.look.names} value={theme} onChange={(theme) => set({ theme })} />
        <Choice label={text.times.label} names={text.times.names} value={times} onChange={(times) => set({ times })} />
        <hr />
        <button
          type="button"
          className="item"
          data-closes
          onClick={() => (uploads > 0 ? setAsking(true) : endSession())}
        >
          <LogOut className="i" aria-hidden />
          {text.nav.signOut}
        </button>
      </Menu>
      {isAsking && (
        <Dialog title={words.title} onClose={() => setAsking(false)}>
          <p className="small soft">{words.lead(uploads)}</p>
          <div className="row end">
            <Button kind="primary" data-autofocus onClick={() => setAsking(false)}>
              {words.stay}
            </Button>
            <Button kind="danger" isBusy={signOut.isPending} onClick={endSession}>
              {words.signOut}
            </Button>
          </div>
        </Dialog>
      )}
    </>
  );
}

/** First letters of the first and the last word. */
function initials(name: string): string {
  const words = name.split("@", 1)[0]?.split(/[\s.]+/).filter((word) => word !== "") ?? [];
  const letters = words.length > 1 ? [words[0], words.at(-1)] : words;
  return letters.map((word) => Array.from(word ?? "")[0]?.toLocaleUpperCase() ?? "").join("");
}
