// Text of the settings of the organisation.

export const settingsText = {
  title: "Settings",
  lead: "Settings of the organisation. All workspaces and people share them.",
  organisation: "Organisation",
  nameHint: "People see it on the sign-in page and in the side bar.",
  saved: "Name saved",
  id: "Organisation ID",
  idName: "the organisation id",
  created: "Created",
};
