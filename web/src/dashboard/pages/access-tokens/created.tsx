// A new token with its secret, which no later answer contains.

import { useState } from "react";
import { Download, Eye, EyeOff, Terminal } from "lucide-react";
import type { NewAccessToken } from "../../api/types.js";
import { AskBeforeLeaving } from "../../parts/ask-before-leaving.js";
import { Button, IconButton } from "../../parts/button.js";
import { Copy, CopyButton, CopyLine } from "../../parts/copy.js";
import { Panel } from "../../parts/panel.js";
import { Tag } from "../../parts/state.js";
import { accessTokensText } from "../../text/access-tokens.js";
import { download } from "./download.js";

const words = accessTokensText.created;

export function Created({ token, onClose }: { token: NewAccessToken; onClose: () => void }) {
  const [isSaved, setSaved] = useState(false);
  const save = () => setSaved(true);
  const { json, env } = token.files;
  return (
    <Panel title={words.title(token)} beside={<Tag tone="accent">{words.scope(token)}</Tag>}>
      <p className="small soft lead">{words.lead}</p>
      <div className="pair">
        <div className="field">
          <span className="label">{words.id}</span>
          <CopyLine value={token.id} what={words.copyId} />
        </div>
        <div className="field">
          <span className="label">{words.secret}</span>
          <Secret value={token.secret} onCopied={save} />
        </div>
      </div>
      <div className="row wrap">
        <Button
          kind="primary"
          onClick={() => {
            download(json, "application/json");
            save();
          }}
        >
          <Download className="i" aria-hidden />
          {words.json}
        </Button>
        <Button
          onClick={() => {
            download(env, "text/plain");
            save();
          }}
        >
          <Download className="i" aria-hidden />
          {words.env}
        </Button>
        <CopyButton value={token.example} onDone={(isCopied) => isCopied && save()}>
          <Terminal className="i" aria-hidden />
          {words.curl}
        </CopyButton>
        <Button kind="plain" className="end" onClick={onClose}>
          {isSaved ? words.isSaved : words.done}
        </Button>
      </div>
      <AskBeforeLeaving isOn={!isSaved} {...accessTokensText.leaving} />
    </Panel>
  );
}

/** The secret, hidden until a button shows it. Copying does not need that. */
function Secret({ value, onCopied }: { value: string; onCopied: () => void }) {
  const [isShown, setShown] = useState(false);
  return (
    <div className="copy">
      {isShown ? (
        <code className="mono clip">{value}</code>
      ) : (
        <span className="mono clip hidden-secret">
          <span className="unseen">{words.hidden}</span>
        </span>
      )}
      <IconButton label={isShown ? words.hideSecret : words.showSecret} aria-pressed={isShown} onClick={() => setShown(!isShown)}>
        {isShown ? <EyeOff className="i" aria-hidden /> : <Eye className="i" aria-hidden />}
      </IconButton>
      <Copy value={value} what={words.copySecret} onDone={(isCopied) => (isCopied ? onCopied() : setShown(true))} />
    </div>
  );
}
