// Code to copy. It is the same in every language.

/** An element that shows the player page; `aspectRatio` is "16:9". */
export function iframe(page: string, title: string, aspectRatio: string | null): string {
  const ratio = (aspectRatio ?? "16:9").replace(":", " / ");
  return [
    `<iframe src="${attribute(page)}" title="${attribute(title)}"`,
    `  style="width: 100%; aspect-ratio: ${ratio}; border: 0"`,
    '  allow="autoplay; fullscreen; picture-in-picture" allowfullscreen></iframe>',
  ].join("\n");
}

/** A page that plays HLS by hls.js, or by itself. */
export function hlsJs(manifest: string): string {
  return `<video id="video" controls playsinline></video>
<script type="module">
  import Hls from "https://cdn.jsdelivr.net/npm/hls.js@1/dist/hls.mjs";

  const video = document.getElementById("video");
  const manifest = ${JSON.stringify(manifest)};
  if (Hls.isSupported()) {
    const hls = new Hls();
    hls.loadSource(manifest);
    hls.attachMedia(video);
  } else {
    video.src = manifest;
  }
</script>`;
}

/** Prints a playback token; `key.json` is the response that has the private key. */
export function signNode(playbackId: string): string {
  return `const crypto = require("node:crypto");
const key = require("./key.json").data;

const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
const header = { alg: "RS256", typ: "JWT", kid: key.id };
const claims = {
  aud: "media:${playbackId}",
  exp: Math.floor(Date.now() / 1000) + 3600,
  jti: crypto.randomUUID(),
};
const message = \`\${part(header)}.\${part(claims)}\`;
const pem = Buffer.from(key.privateKey, "base64").toString();
console.log(\`\${message}.\${crypto.sign("RSA-SHA256", message, pem).toString("base64url")}\`);`;
}

/** The same in Python. */
export function signPython(playbackId: string): string {
  return `import base64, json, time, uuid

import jwt

key = json.load(open("key.json"))["data"]
claims = {
    "aud": "media:${playbackId}",
    "exp": int(time.time()) + 3600,
    "jti": str(uuid.uuid4()),
}
print(jwt.encode(claims, base64.b64decode(key["privateKey"]), "RS256", headers={"kid": key["id"]}))`;
}

/** Text as the value of an attribute. */
function attribute(value: string): string {
  return value.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
