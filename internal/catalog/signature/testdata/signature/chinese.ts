{城市: string /* 城市名称，例如北京 */; 单位?: "摄氏" | "华氏" /* default "摄氏" */}
tool(城市:str, 单位?:enum)
