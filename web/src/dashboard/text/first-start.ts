// Text of the library without media. A chunk of its own loads it.

export const firstStartText = {
  uploadTitle: "Upload a file by command",
  upload: "On the server. The command waits until the media is ready.",
  uploadCommand: "the upload command",
  curlTitle: "Add a video by its URL",
  curl: "From any machine, with the id and the secret of an access token.",
  request: "the request",
  tokenTitle: "Create an access token",
  token: "On the server. The command prints the id and the secret once.",
  tokenByPage: "On the page Access Tokens, or on the server by this command. Both show the secret once.",
  tokenCommand: "the token command",
  workspaceId: "Workspace ID",
  baseUrl: "API base URL",
  reference: "All requests in the API reference",
};
