// Adds the selected media to a playlist, one that exists or a new one.

import { useState } from "react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { inWorkspace, send } from "../../../api/client.js";
import { Button } from "../../../parts/button.js";
import { Dialog } from "../../../parts/dialog.js";
import { Field } from "../../../parts/field.js";
import { Form } from "../../../parts/form.js";
import { Outline } from "../../../parts/outline.js";
import { FormProblem, LoadProblem, requestError } from "../../../parts/problem.js";
import { Select } from "../../../parts/select.js";
import { bulkText } from "../../../text/bulk.js";
import { text } from "../../../text/en.js";
import type { AskProps } from "./bulk.js";
import { addToPlaylist, type ListedPlaylist, readPlaylists } from "./operations.js";

const words = bulkText.playlist;

export function PlaylistDialog({ workspace, media, onStart, onCancel }: AskProps) {
  const playlists = useQuery({ queryKey: ["workspace", workspace.id, "playlists"], queryFn: () => readPlaylists(workspace.id), staleTime: 0 });
  const [chosen, setChosen] = useState<string | null>(null);
  const [name, setName] = useState("");
  const ready = media.filter(({ status }) => status === "Ready");
  const loadError = requestError(playlists.error);
  const playlistId = chosen ?? playlists.data?.[0]?.id ?? "";
  const start = (id: string) => onStart((media) => addToPlaylist(workspace.id, id, media), ready);
  const create = useMutation({
    mutationFn: () =>
      send<ListedPlaylist>("POST", inWorkspace(workspace.id, "/on-demand/playlists"), { body: { name, referenceId: referenceId(), type: "manual" } }),
    onSuccess: ({ id }) => start(id),
  });
  const error = requestError(create.error);
  const left = media.length - ready.length;
  return (
    <Dialog title={bulkText.titles.playlist} onClose={onCancel}>
      {loadError !== null && <LoadProblem error={loadError} onRetry={() => void playlists.refetch()} />}
      {playlists.data === undefined && loadError === null && <Outline />}
      {playlists.data && (
        <Form error={error} isBusy={create.isPending} onSubmit={() => (playlistId === "" ? create.mutate() : start(playlistId))}>
          <Select
            label={words.label}
            data-autofocus
            options={[...playlists.data.map(({ id, name, mediaCount }) => ({ value: id, name: words.option(name, mediaCount) })), { value: "", name: words.new }]}
            value={playlistId}
            onChange={setChosen}
          />
          {playlistId === "" && <Field label={words.name} problem={error?.of("name") ?? null} required maxLength={255} value={name} onChange={(event) => setName(event.target.value)} />}
          {left > 0 && <p className="hint">{words.notReady(left)}</p>}
          <FormProblem error={error} shown={["name"]} />
          <div className="row end">
            <Button onClick={onCancel}>{text.cancel}</Button>
            <Button kind="primary" type="submit" isBusy={create.isPending || ready.length === 0}>
              {words.button(ready.length)}
            </Button>
          </div>
        </Form>
      )}
    </Dialog>
  );
}

/** The API wants an id of the client for each playlist. `randomUUID` is missing over plain HTTP. */
function referenceId(): string {
  return `playlist-${[...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
