// The playback IDs of a media: what each allows, and the form of a new one.

import { useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { Globe, Lock, Plus } from "lucide-react";
import type { AccessRule, Media } from "../../api/media-types.js";
import { type PlaybackId, playbackIdsQuery, type RuleKind, useDeletePlaybackId } from "../../api/playback-ids.js";
import { AskBeforeLeaving } from "../../parts/ask-before-leaving.js";
import { Button } from "../../parts/button.js";
import { Card } from "../../parts/card.js";
import { Copy } from "../../parts/copy.js";
import { DangerDialog } from "../../parts/danger-dialog.js";
import { Empty } from "../../parts/empty.js";
import { Loading } from "../../parts/loading.js";
import { requestError } from "../../parts/problem.js";
import { Tag } from "../../parts/state.js";
import { showToast } from "../../parts/toast.js";
import { playbackText as words, rulesText } from "../../text/media-tabs.js";
import { mediaText } from "../../text/media.js";
import { CreatePlaybackId } from "./create-playback-id.js";
import type { TabProps } from "./media.js";
import { changedKinds, draftsOf, type RuleDrafts } from "./rule-draft.js";
import { Rules, type RulesProps } from "./rules.js";

export default function PlaybackTab({ media, mayChangePlayback }: TabProps) {
  const ids = useQuery(playbackIdsQuery(media));
  const [isCreating, setCreating] = useState(false);
  const [openId, setOpenId] = useState<string | null>(null);
  // Rules that are typed and not saved, by the playback ID: they stay when another one is opened.
  const [drafts, setDrafts] = useState<Record<string, RuleDrafts>>({});
  const isUnsaved = ids.data?.some(({ id, accessRestrictions }) => drafts[id] !== undefined && changedKinds(drafts[id], accessRestrictions).length > 0) ?? false;
  const setDraft = (id: string, draft: RuleDrafts | null) => {
    const { [id]: _, ...others } = drafts;
    setDrafts(draft === null ? others : { ...others, [id]: draft });
  };
  const [deleting, setDeleting] = useState<PlaybackId | null>(null);
  const add = mayChangePlayback && !isCreating && (
    <Button size="small" onClick={() => setCreating(true)}>
      <Plus className="i" aria-hidden />
      {words.add}
    </Button>
  );
  return (
    <div className="cards wide">
      <AskBeforeLeaving isOn={isUnsaved} {...rulesText.leaving} />
      {isCreating && <CreatePlaybackId media={media} onClose={() => setCreating(false)} />}
      {ids.data === undefined && <Loading query={ids} queryKey={playbackIdsQuery(media).queryKey} lines={4} />}
      {ids.data?.length === 0 && !isCreating && (
        <Empty icon={Globe} title={words.empty} actions={add}>
          {words.emptyLead}
        </Empty>
      )}
      {ids.data !== undefined && ids.data.length > 0 && (
        <Card title={words.title} lead={words.lead} actions={add}>
          <ul className="list blocks">
            {ids.data.map((playbackId) => (
              <Entry
                key={playbackId.id}
                media={media}
                playbackId={playbackId}
                mayChange={mayChangePlayback}
                isOpen={playbackId.id === openId}
                onToggle={() => setOpenId(playbackId.id === openId ? null : playbackId.id)}
                drafts={drafts[playbackId.id] ?? draftsOf(playbackId.accessRestrictions)}
                onDraft={(draft) => setDraft(playbackId.id, draft)}
                onDelete={() => setDeleting(playbackId)}
              />
            ))}
          </ul>
        </Card>
      )}
      {deleting !== null && <Delete media={media} playbackId={deleting} isLast={ids.data?.length === 1} onClose={() => setDeleting(null)} />}
    </div>
  );
}

interface EntryProps extends RulesProps {
  isOpen: boolean;
  onToggle: () => void;
  onDelete: () => void;
}

function Entry({ isOpen, onToggle, onDelete, ...rules }: EntryProps) {
  const { media, playbackId, mayChange } = rules;
  const { id, accessPolicy, resolution, encryption, accessRestrictions } = playbackId;
  const Icon = accessPolicy === "private" ? Lock : Globe;
  return (
    <li>
      <div className="row wrap entry">
        <span className="glyph">
          <Icon className="i" aria-hidden />
        </span>
        <div className="words grow">
          <div className="row wrap">
            <span className="strong small">{mediaText.policies[accessPolicy]}</span>
            {resolution !== undefined && resolution !== media.maxResolution && <Tag>{words.upTo(resolution)}</Tag>}
            {encryption !== undefined && <Tag>{words.encryptions[encryption]}</Tag>}
            <RuleTag kind="domains" rule={accessRestrictions.domains} />
            <RuleTag kind="userAgents" rule={accessRestrictions.userAgents} />
          </div>
          <div className="row tight">
            <span className="mono faint clip">{id}</span>
            <Copy className="tiny" value={id} what={words.id(id)} />
          </div>
        </div>
        <div className="row">
          <Button size="small" aria-expanded={isOpen} aria-label={words.rulesOf(id)} onClick={onToggle}>
            {words.rules}
          </Button>
          {mayChange && (
            <Button size="small" kind="danger" aria-label={words.remove.buttonOf(id)} onClick={onDelete}>
              {words.remove.button}
            </Button>
          )}
        </div>
      </div>
      {isOpen && <Rules {...rules} />}
    </li>
  );
}

/** Nothing for a rule that lets everything pass. */
function RuleTag({ kind, rule: { defaultPolicy, allow, deny } }: { kind: RuleKind; rule: AccessRule }) {
  const isDeny = defaultPolicy === "deny";
  const entries = isDeny ? allow.length : deny.length;
  if (!isDeny && entries === 0) return null;
  return <Tag>{words.ruleCount(kind, entries, isDeny)}</Tag>;
}

function Delete({ media, playbackId, isLast, onClose }: { media: Media; playbackId: PlaybackId; isLast: boolean; onClose: () => void }) {
  const remove = useDeletePlaybackId(media);
  const confirm = () =>
    remove.mutate(playbackId.id, {
      onSuccess: () => {
        showToast(words.remove.done);
        onClose();
      },
    });
  return (
    <DangerDialog
      title={words.remove.title}
      button={words.remove.confirm}
      error={requestError(remove.error)}
      isBusy={remove.isPending}
      onConfirm={confirm}
      onClose={onClose}
    >
      <p className="mono">{playbackId.id}</p>
      <p>{words.remove.lead}</p>
      {playbackId.accessPolicy === "public" && <p>{words.remove.shared}</p>}
      {isLast && <p className="strong">{words.remove.last}</p>}
      <p>{words.remove.final}</p>
    </DangerDialog>
  );
}
