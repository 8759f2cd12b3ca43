not applied
tool(a?:any)
