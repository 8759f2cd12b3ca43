// As much of zip as a .vsix uses.
import { readFileSync } from "node:fs";
import { inflateRawSync } from "node:zlib";

/** unzip is the files of an archive by name. */
export function unzip(path) {
  const b = readFileSync(path);
  const end = b.lastIndexOf(Buffer.from("PK\x05\x06"));
  const files = new Map();
  for (let at = b.readUInt32LE(end + 16), n = b.readUInt16LE(end + 10); n > 0; n--) {
    const [method, size, name, extra, comment, start] = [b.readUInt16LE(at + 10), b.readUInt32LE(at + 20), b.readUInt16LE(at + 28), b.readUInt16LE(at + 30), b.readUInt16LE(at + 32), b.readUInt32LE(at + 42)];
    const data = start + 30 + b.readUInt16LE(start + 26) + b.readUInt16LE(start + 28);
    const body = b.subarray(data, data + size);
    files.set(b.toString("utf8", at + 46, at + 46 + name), method === 8 ? inflateRawSync(body) : body);
    at += 46 + name + extra + comment;
  }
  return files;
}
