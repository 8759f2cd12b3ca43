// URI templates of RFC 6570, as far as resource templates use them.

const expression = /\{([+#./;?&]?)([^{}]+)\}/g;

/** variables returns the variable names of a template, in order. */
export function variables(template: string): string[] {
  return [...template.matchAll(expression)].flatMap((m) => m[2]!.split(",").map((v) => v.replace(/(\*|:\d+)$/, "")));
}

const operators: Record<string, { first: string; sep: string; named: boolean; reserved: boolean; empty: string }> = {
  "": { first: "", sep: ",", named: false, reserved: false, empty: "" },
  "+": { first: "", sep: ",", named: false, reserved: true, empty: "" },
  "#": { first: "#", sep: ",", named: false, reserved: true, empty: "" },
  ".": { first: ".", sep: ".", named: false, reserved: false, empty: "" },
  "/": { first: "/", sep: "/", named: false, reserved: false, empty: "" },
  ";": { first: ";", sep: ";", named: true, reserved: false, empty: "" },
  "?": { first: "?", sep: "&", named: true, reserved: false, empty: "=" },
  "&": { first: "&", sep: "&", named: true, reserved: false, empty: "=" },
};

export function expand(template: string, values: Record<string, string>): string {
  return template.replace(expression, (_, op: string, list: string) => {
    const o = operators[op]!;
    const parts = list.split(",").flatMap((spec) => {
      const m = /^(.*?)(?::(\d+)|\*)?$/.exec(spec)!;
      let v = values[m[1]!];
      if (v === undefined || v === "") return [];
      if (m[2]) v = [...v].slice(0, Number(m[2])).join("");
      const text = o.reserved ? encodeURI(v).replaceAll("%25", "%") : encodeURIComponent(v).replace(/[!'()*]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase());
      return [o.named ? m[1] + (text ? "=" + text : o.empty) : text];
    });
    return parts.length ? o.first + parts.join(o.sep) : "";
  });
}
