{path: string /* desc */; tail?: number}
tool(path:str, tail?:num)
