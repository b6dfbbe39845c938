// Text that several pages of the organisation share. Only their chunks load it.

export const organisationText = {
  only: {
    title: "Administrators only",
    lead: "Your role does not allow you to open this page. Ask an administrator:",
  },
  never: "Never",
  neverUsed: "Never used",
  typeName: (name: string) => `Type ${name} to confirm`,
  ago: {
    now: "just now",
    minutes: (count: number) => `${count} min ago`,
    today: (time: string) => `Today, ${time}`,
    yesterday: (time: string) => `Yesterday, ${time}`,
    days: (count: number) => `${count} days ago`,
  },
};
