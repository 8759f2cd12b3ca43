{query: string; limit?: number /* integer */ | null /* default null */; mode?: "fast" | "slow" /* default "fast" */}
tool(query:str, limit?:int|null, mode?:enum)
