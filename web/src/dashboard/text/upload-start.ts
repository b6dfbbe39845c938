// Text of what starts an upload. The first load has it.

const files = (count: number): string => (count === 1 ? "1 upload is" : `${count} uploads are`);

export const uploadStartText = {
  title: "Drop video or audio files here",
  takenIn: "Any video or audio file, of any size, or a folder. Drop it anywhere in this window. The upload resumes after a reload.",
  choose: "Choose files",
  upload: "Upload",
  key: "Upload files",

  signOut: {
    title: "Sign out and forget the uploads?",
    lead: (count: number) =>
      `${files(count)} unfinished. Signing out stops them, and this browser forgets them. The server keeps the sent part for up to 7 days: ` +
      "the page Uploads lists it.",
    stay: "Stay signed in",
    signOut: "Sign out",
  },
};
