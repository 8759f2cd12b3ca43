{query: string /* Search query using GitHub issues search syntax */; sort?: "comments" | "reactions" | "created" /* Sort field */; per_page?: number /* Results per page; integer; >= 1; <= 100; default 30 */; labels?: string[]}
tool(query:str, sort?:enum, per_page?:int, labels?:str[])
