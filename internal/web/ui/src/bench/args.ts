// Arguments in a URL: base64url of their JSON.

export function encodeArgs(json: string): string {
  let s = "";
  for (const b of new TextEncoder().encode(json)) s += String.fromCharCode(b);
  return btoa(s).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

export function decodeArgs(text: string): string | undefined {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0)));
  } catch { return undefined; }
}
