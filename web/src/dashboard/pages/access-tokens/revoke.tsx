// The dialog before a token is revoked.

import { useRevokeAccessToken } from "../../api/access-tokens.js";
import type { AccessToken } from "../../api/types.js";
import { Ago } from "../../parts/ago.js";
import { DangerDialog } from "../../parts/danger-dialog.js";
import { requestError } from "../../parts/problem.js";
import { showToast } from "../../parts/toast.js";
import { accessTokensText } from "../../text/access-tokens.js";

const words = accessTokensText.revoke;
/** A token used less than this ago is probably in use: its name must be typed. */
const LATELY_MS = 24 * 60 * 60 * 1000;

export function Revoke({ token, onClose }: { token: AccessToken; onClose: () => void }) {
  const revoke = useRevokeAccessToken();
  const isUsedLately = token.lastUsedAt !== null && Date.now() - Date.parse(token.lastUsedAt) < LATELY_MS;
  const onSuccess = () => {
    showToast(words.done);
    onClose();
  };
  return (
    <DangerDialog
      title={words.title(token)}
      button={words.confirm}
      typed={isUsedLately ? accessTokensText.nameOf(token) : undefined}
      error={requestError(revoke.error)}
      isBusy={revoke.isPending}
      onConfirm={() => revoke.mutate(token.id, { onSuccess })}
      onClose={onClose}
    >
      <p>
        {token.lastUsedAt === null ? (
          words.neverUsed
        ) : (
          <>
            {words.lastUsed}
            <Ago at={token.lastUsedAt} />. {isUsedLately && words.usedLately}
          </>
        )}
      </p>
      <p>{words.effect}</p>
    </DangerDialog>
  );
}
