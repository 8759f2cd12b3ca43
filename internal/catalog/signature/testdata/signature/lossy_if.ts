not applied
tool(a?:str)
