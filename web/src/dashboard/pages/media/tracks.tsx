// The tracks of a media: those of the source, and added subtitles and audio.

import { type ReactNode, useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { Captions, Plus } from "lucide-react";
import { inputInfoQuery } from "../../api/media.js";
import type { Media, Track } from "../../api/media-types.js";
import { useDeleteTrack } from "../../api/tracks.js";
import { focusHeading } from "../../frame/page.js";
import { Button } from "../../parts/button.js";
import { DangerDialog } from "../../parts/danger-dialog.js";
import { Empty } from "../../parts/empty.js";
import { requestError } from "../../parts/problem.js";
import { State } from "../../parts/state.js";
import { type Column, Table } from "../../parts/table.js";
import { showToast } from "../../parts/toast.js";
import { sentence } from "../../text/en.js";
import { tracksText as words } from "../../text/media-tabs.js";
import { AddTrack, ChangeTrack } from "./track-forms.js";
import type { TabProps } from "./media.js";

const TONES = { preparing: "busy", available: "ok", failed: "bad" } as const;

type Open = { kind: "add" } | { kind: "change" | "delete"; track: Track } | null;

export default function TracksTab({ media, mayChange }: TabProps) {
  const [open, setOpen] = useState<Open>(null);
  const source = useQuery({ ...inputInfoQuery(media), enabled: media.status === "Ready" });
  const ofSource = new Set(source.data?.file.tracks.map(({ id }) => id));
  // Until the tracks of the source are known, no track may be changed: the API rejects changes of those.
  const isAdded = ({ id, type }: Track) =>
    media.status === "Ready" ? source.data !== undefined && !ofSource.has(id) : type !== "video";
  const close = () => {
    setOpen(null);
    focusHeading();
  };
  const add = mayChange && open?.kind !== "add" && (
    <Button size="small" onClick={() => setOpen({ kind: "add" })}>
      <Plus className="i" aria-hidden />
      {words.add}
    </Button>
  );
  const actions = (track: Track): ReactNode =>
    mayChange &&
    isAdded(track) && (
      <span className="row to-end">
        <Button size="small" aria-label={words.changeOf(nameOf(track))} onClick={() => setOpen({ kind: "change", track })}>
          {words.change}
        </Button>
        <Button size="small" kind="danger" aria-label={words.removeOf(nameOf(track))} onClick={() => setOpen({ kind: "delete", track })}>
          {words.remove}
        </Button>
      </span>
    );
  return (
    <div className="cards wide">
      {open?.kind === "add" && <AddTrack media={media} onClose={close} />}
      {open?.kind === "change" && <ChangeTrack key={open.track.id} media={media} track={open.track} onClose={close} />}
      {media.tracks.length === 0 && open?.kind !== "add" ? (
        <Empty icon={Captions} title={words.empty} actions={add}>
          {words.emptyLead}
        </Empty>
      ) : (
        <section className="card" aria-label={words.title}>
          <header>
            <h2>{words.title}</h2>
            {add}
          </header>
          <Table label={words.title} columns={columnsOf(isAdded, mayChange ? actions : null)} rows={media.tracks} keyOf={({ id }) => id} />
        </section>
      )}
      {open?.kind === "delete" && <DeleteTrack media={media} track={open.track} onClose={() => setOpen(null)} />}
    </div>
  );
}

/** The source may say nothing of the language: `und`. */
function nameOf({ languageName, languageCode, type }: Track): string {
  return languageCode === "und" ? words.types[type] : (languageName ?? words.types[type]);
}

function columnsOf(isAdded: (track: Track) => boolean, actions: ((track: Track) => ReactNode) | null): Column<Track>[] {
  const { columns } = words;
  const all: Column<Track>[] = [
    {
      name: columns.track,
      isMain: true,
      cell: (track) => (
        <>
          <bdi className="strong">{nameOf(track)}</bdi>
          <div className="xs faint">
            {[facts(track), isAdded(track) ? words.origin.added : words.origin.source].filter((part) => part !== "").join(" · ")}
          </div>
        </>
      ),
    },
    { name: columns.type, isWideOnly: true, cell: ({ type }) => words.types[type] },
    {
      name: columns.state,
      cell: ({ status, error }) => (
        <>
          <State tone={TONES[status]}>{words.states[status]}</State>
          {error && <p className="xs soft">{sentence(error.message)}</p>}
        </>
      ),
    },
  ];
  return actions === null ? all : [...all, { name: columns.actions, isNameHidden: true, isAtEnd: true, cell: actions }];
}

function facts({ type, width, height, languageCode }: Track): string {
  if (type === "video") return width !== undefined && height !== undefined ? words.size(width, height) : "";
  return languageCode === "und" ? "" : (languageCode ?? "");
}

function DeleteTrack({ media, track, onClose }: { media: Media; track: Track; onClose: () => void }) {
  const remove = useDeleteTrack(media);
  const confirm = () =>
    remove.mutate(track.id, {
      onSuccess: () => {
        showToast(words.removed);
        onClose();
      },
    });
  return (
    <DangerDialog
      title={words.removeTitle(nameOf(track))}
      button={words.removeButton}
      error={requestError(remove.error)}
      isBusy={remove.isPending}
      onConfirm={confirm}
      onClose={onClose}
    >
      <p>{words.removeLead}</p>
    </DangerDialog>
  );
}
