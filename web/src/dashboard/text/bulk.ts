// Text of changes to many media. Only their chunk loads it.

const number = new Intl.NumberFormat("en-GB");
const media = (count: number): string => `${number.format(count)} media`;
const playbackIds = (count: number): string => (count === 1 ? "1 playback ID" : `${number.format(count)} playback IDs`);
const subtitles = (count: number): string => (count === 1 ? "1 subtitle track" : `${number.format(count)} subtitle tracks`);

export const bulkText = {
  titles: { playlist: "Add to playlist", metadata: "Set metadata", sourceAccess: "Source access", delete: "Delete media" },
  done: {
    playlist: (count: number) => `${media(count)} added to the playlist`,
    metadata: (count: number) => `Metadata of ${media(count)} changed`,
    sourceAccess: (count: number) => `Source access of ${media(count)} changed`,
    delete: (count: number) => `${media(count)} deleted`,
  },
  change: (count: number) => `Change ${media(count)}`,
  more: (count: number) => `and ${number.format(count)} more`,

  progress: (ended: number, total: number) => `${number.format(ended)} of ${number.format(total)}`,
  stop: "Stop",
  stopping: "Stopping: requests that are sent finish.",
  result: (done: number, failed: number, left: number) =>
    [`${number.format(done)} done`, failed > 0 && `${number.format(failed)} failed`, left > 0 && `${number.format(left)} not started`].filter((part) => part !== false).join(", ") + ".",
  failed: "Failed",
  defect: "An error of this page stopped the change. Load the page again, then try again.",
  again: "Try these again",

  playlist: {
    label: "Playlist",
    new: "New playlist",
    name: "Name",
    option: (name: string, count: number) => `${name} (${number.format(count)})`,
    notReady: (count: number) => (count === 1 ? "1 media is not ready and is left out." : `${media(count)} are not ready and are left out.`),
    button: (count: number) => `Add ${media(count)}`,
  },
  metadata: {
    label: "Change",
    modes: { set: "Set", remove: "Remove" },
    key: "Key",
    value: "Value",
    hint: "Other entries stay as they are. A media has at most 10.",
  },
  sourceAccess: {
    label: "Viewers may download the source",
    names: { off: "No", on: "Yes" },
    hint: "It applies at once to all playback IDs of these media.",
  },
  delete: {
    title: (count: number) => `Delete ${media(count)}?`,
    button: (count: number) => `Delete ${media(count)}`,
    lead: (ids: number, tracks: number) =>
      `${[playbackIds(ids), tracks > 0 && subtitles(tracks)].filter((part) => part !== false).join(" and ")}, all files and places in playlists go with ${tracks > 0 || ids > 0 ? "them" : "the media"}. Pages that play them stop. There is no way back.`,
  },
};
