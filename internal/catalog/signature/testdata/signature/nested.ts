{filter?: {field: string; op?: "eq"; values: (string | number)[] /* items >= 1; unique */}; tags?: Record<string, string>; extra?: object; open?: {a?: boolean; [key: string]: unknown}}
tool(filter?:obj, tags?:obj, extra?:obj, open?:obj)
