// What a notification of a server says.

export const noteKind = (method: string, params: any) => (method === "notifications/message" ? String(params?.level ?? "log") : method.replace(/^notifications\//, ""));

export function noteText(method: string, p: any = {}): string {
  if (method === "notifications/progress") return `${p.progress}${p.total ? " / " + p.total : ""} ${p.message ?? ""}`;
  if (method === "notifications/message") return `${p.logger ? p.logger + " " : ""}${typeof p.data === "string" ? p.data : JSON.stringify(p.data)}`;
  return p.uri ?? JSON.stringify(p);
}
