// The finder: pages, actions, and what the workspace has under an id or a title.

import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { CircleDot, Film, KeyRound, Link as LinkIcon, ListVideo, type LucideIcon, PlayCircle, Search, Subtitles, Upload, Zap } from "lucide-react";
import { useLocation } from "wouter";
import { find, type Found, type FoundKind, isId, pageOfFound } from "../api/find.js";
import type { Session, Workspace } from "../api/types.js";
import { Dialog } from "../parts/dialog.js";
import { requestError } from "../parts/problem.js";
import { sentenceOf } from "../text/en.js";
import { finderText } from "../text/finder.js";
import { libraryText } from "../text/library.js";
import { openUploadPicker } from "../upload-ui/intake.js";
import type { Entry } from "./navigation.js";

/** Pause of typing before the server is asked. */
const PAUSE_MS = 150;
const FOUND_FOR_MS = 10_000;

const icons: Record<FoundKind, LucideIcon> = {
  media: Film,
  playback_id: PlayCircle,
  track: Subtitles,
  upload: Upload,
  playlist: ListVideo,
  signing_key: KeyRound,
  event: Zap,
};

interface Option {
  key: string;
  icon: LucideIcon;
  name: string;
  detail?: string | undefined;
  /** `null`: the dashboard has no page for it. */
  run: (() => void) | null;
}

interface Props {
  session: Session;
  workspace: Workspace | null;
  entries: Entry[];
  onClose: () => void;
}

export default function Finder({ session, workspace, entries, onClose }: Props) {
  const [, navigate] = useLocation();
  const id = useId();
  const [typed, setTyped] = useState("");
  const [active, setActive] = useState(0);
  const trimmed = typed.trim();
  const [entered, setEntered] = useState<string | null>(null);
  const paused = usePaused(trimmed);
  const q = entered === trimmed || isId(trimmed) ? trimmed : paused;
  const found = useQuery({
    queryKey: ["workspace", workspace?.id, "find", q],
    queryFn: ({ signal }) => find(workspace?.id ?? "", q, signal),
    enabled: workspace !== null && q !== "",
    placeholderData: keepPreviousData,
    staleTime: FOUND_FOR_MS,
    gcTime: FOUND_FOR_MS,
  });
  const error = requestError(found.error);

  const close = (then: () => void) => () => {
    onClose();
    // The dialog gives the focus back first.
    setTimeout(then);
  };
  const matches = (name: string) => name.toLocaleLowerCase().includes(typed.trim().toLocaleLowerCase());
  const actions: Option[] = workspace !== null && session.actions.includes("media.change")
    ? [
        { key: "upload", icon: Upload, name: finderText.upload, run: () => (onClose(), openUploadPicker()) },
        { key: "add", icon: LinkIcon, name: libraryText.add.title, run: close(() => navigate(`/w/${workspace.id}/library?add`)) },
      ]
    : [];
  const pages: Option[] = entries.map(({ name, icon, href, isOutside }) => ({
    key: `page ${href}`,
    icon,
    name,
    run: close(() => (isOutside ? location.assign(href) : navigate(href))),
  }));
  const objects = q === "" || workspace === null ? [] : (found.data ?? []).map((entry) => optionOf(workspace.id, entry, (path) => close(() => navigate(path))));
  const groups = [
    { name: finderText.found, options: objects },
    { name: finderText.actions, options: actions.filter(({ name }) => matches(name)) },
    { name: finderText.pages, options: pages.filter(({ name }) => matches(name)) },
  ].filter(({ options }) => options.length > 0);
  const options = groups.flatMap(({ options }) => options);
  const shown = Math.min(active, options.length - 1);
  /** Whether the results are of what is typed now. */
  const isCurrent = workspace === null || trimmed === "" || (q === trimmed && !found.isPlaceholderData && (found.isSuccess || found.isError));
  // Enter waits for the answer to what is typed.
  useEffect(() => {
    if (entered === null || !isCurrent) return;
    setEntered(null);
    if (entered === trimmed) options[shown]?.run?.();
  });

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "ArrowDown") setActive((shown + 1) % Math.max(1, options.length));
    else if (event.key === "ArrowUp") setActive((shown - 1 + options.length) % Math.max(1, options.length));
    else if (event.key === "Enter" && !isCurrent && (shown < objects.length || isId(trimmed))) setEntered(trimmed);
    else if (event.key === "Enter") options[shown]?.run?.();
    else return;
    event.preventDefault();
  };
  const status = error !== null ? sentenceOf(error) : options.length > 0 ? finderText.count(options.length) : found.isFetching || q !== trimmed ? finderText.looking : finderText.nothing;
  return (
    <Dialog title={finderText.title} closesOutside onClose={onClose}>
      <div className="finder-box">
        <Search className="i" aria-hidden />
        <input
          data-autofocus
          className="input"
          type="text"
          role="combobox"
          aria-label={finderText.title}
          aria-expanded={options.length > 0}
          aria-controls={`${id}-list`}
          aria-activedescendant={options[shown] && `${id}-${shown}`}
          aria-autocomplete="list"
          autoComplete="off"
          spellCheck={false}
          maxLength={255}
          dir="auto"
          placeholder={finderText.placeholder}
          value={typed}
          onChange={(event) => {
            setTyped(event.target.value);
            setActive(0);
            setEntered(null);
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      <div id={`${id}-list`} role="listbox" aria-label={finderText.results} className="finder-list">
        {groups.map(({ name, options: inGroup }) => (
          <div key={name} role="group" aria-label={name}>
            <p className="title" aria-hidden>
              {name}
            </p>
            {inGroup.map((option) => {
              const place = options.indexOf(option);
              return <Row key={option.key} id={`${id}-${place}`} option={option} isActive={place === shown} onPoint={() => setActive(place)} />;
            })}
          </div>
        ))}
      </div>
      <p role="status" className={options.length > 0 && error === null ? "unseen" : "small soft"}>
        {status}
      </p>
    </Dialog>
  );
}

function Row({ id, option: { icon: Icon, name, detail, run }, isActive, onPoint }: { id: string; option: Option; isActive: boolean; onPoint: () => void }): ReactNode {
  const row = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isActive) row.current?.scrollIntoView({ block: "nearest" });
  }, [isActive]);
  return (
    <div ref={row} id={id} role="option" aria-selected={isActive} aria-disabled={run === null || undefined} className="option" onMouseMove={onPoint} onClick={() => run?.()}>
      <Icon className="i" aria-hidden />
      <span className="clip name" dir="auto">
        {name}
      </span>
      {detail !== undefined && <span className="xs faint">{detail}</span>}
    </div>
  );
}

function optionOf(workspaceId: string, found: Found, open: (path: string) => () => void): Option {
  const page = pageOfFound(workspaceId, found);
  return {
    key: `${found.kind} ${found.id}`,
    icon: icons[found.kind] ?? CircleDot,
    name: found.title || found.id,
    detail: [finderText.kinds[found.kind] ?? found.kind, found.state].filter((part) => part !== null).join(", "),
    run: page === null ? null : open(page),
  };
}

/** The value after a pause of typing. */
function usePaused(value: string): string {
  const [paused, setPaused] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setPaused(value), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return paused;
}
