{a?: string | null; b?: string /* format date-time; pattern ^\d{4} */; c?: [number, number]; d?: {x?: string} & {y?: string}; "weird-name"?: string /* ends *\/ here */; any?: unknown}
tool(a?:str|null, b?:str, c?:any[], d?:any, weird-name?:str, any?:any)
