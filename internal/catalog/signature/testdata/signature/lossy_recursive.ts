not applied
tool(children?:obj[])
