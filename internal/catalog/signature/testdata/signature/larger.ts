not applied
tool(a?:enum, b?:enum, c?:enum, d?:enum, e?:enum)
