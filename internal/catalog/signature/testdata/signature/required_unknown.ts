{a: string; b: unknown}
tool(a:str)
