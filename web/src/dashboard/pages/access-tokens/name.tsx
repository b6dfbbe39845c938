// The name of a token, which changes in its place, and its id.

import { useEffect, useRef, useState } from "react";
import { Pencil } from "lucide-react";
import { useRenameAccessToken } from "../../api/access-tokens.js";
import type { AccessToken } from "../../api/types.js";
import { Button, IconButton } from "../../parts/button.js";
import { Copy } from "../../parts/copy.js";
import { Form } from "../../parts/form.js";
import { FormProblem, requestError } from "../../parts/problem.js";
import { showToast } from "../../parts/toast.js";
import { accessTokensText as words } from "../../text/access-tokens.js";
import { text } from "../../text/en.js";

export function Name({ token }: { token: AccessToken }) {
  const [isEdited, setEdited] = useState(false);
  const pencil = useRef<HTMLButtonElement>(null);
  const wasEdited = useRef(false);
  useEffect(() => {
    if (wasEdited.current && !isEdited) pencil.current?.focus();
    wasEdited.current = isEdited;
  }, [isEdited]);
  if (isEdited) return <Rename token={token} onClose={() => setEdited(false)} />;
  return (
    <>
      <div className="row tight">
        {token.name === null ? <span className="faint">{words.unnamed}</span> : <span className="strong">{token.name}</span>}
        {token.revokedAt === null && (
          <IconButton ref={pencil} className="tiny" label={words.rename.button(token)} onClick={() => setEdited(true)}>
            <Pencil className="i" aria-hidden />
          </IconButton>
        )}
      </div>
      <div className="row tight">
        <code className="mono faint clip" title={token.id}>
          {token.id.slice(0, 18)}…
        </code>
        <Copy className="tiny" value={token.id} what={words.idOf(token)} />
      </div>
    </>
  );
}

function Rename({ token, onClose }: { token: AccessToken; onClose: () => void }) {
  const [name, setName] = useState(token.name ?? "");
  const rename = useRenameAccessToken();
  const error = requestError(rename.error);
  const submit = () =>
    rename.mutate(
      { id: token.id, name },
      {
        onSuccess: () => {
          showToast(words.rename.done);
          onClose();
        },
      },
    );
  return (
    <Form error={error} isBusy={rename.isPending} onSubmit={submit}>
      <div className="row wrap">
        <input
          className="input in-place"
          aria-label={words.rename.label}
          aria-invalid={error !== null || undefined}
          autoComplete="off"
          autoFocus
          required
          maxLength={80}
          value={name}
          onChange={(event) => setName(event.target.value)}
          onKeyDown={(event) => event.key === "Escape" && onClose()}
        />
        <Button type="submit" size="small" isBusy={rename.isPending}>
          {text.save}
        </Button>
        <Button kind="plain" size="small" onClick={onClose}>
          {text.cancel}
        </Button>
      </div>
      <FormProblem error={error} />
    </Form>
  );
}
