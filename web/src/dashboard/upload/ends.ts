// A hash of both ends of a file: recognises it when it is chosen again. It protects from mistakes, not from
// attacks. `crypto.subtle` does not exist over plain HTTP.

/** Bytes of each end. */
const END_BYTES = 128 * 1024;

/** The hash of the first and the last bytes. Rejects if the file cannot be read. */
export async function endsOf(file: Blob): Promise<string> {
  const start = file.slice(0, END_BYTES);
  const end = file.slice(Math.max(file.size - END_BYTES, 0));
  const hashes = await Promise.all([start, end].map(async (part) => hash(new Uint8Array(await part.arrayBuffer()))));
  return hashes.join("-");
}

/** Two FNV-1a hashes of 32 bits with different beginnings. */
function hash(bytes: Uint8Array): string {
  let one = 0x811c9dc5;
  let other = 0x01234567;
  for (const byte of bytes) {
    one = Math.imul(one ^ byte, 0x01000193);
    other = Math.imul(other ^ byte, 0x01000193) ^ (other >>> 13);
  }
  return [one, other].map((part) => (part >>> 0).toString(16).padStart(8, "0")).join("");
}
