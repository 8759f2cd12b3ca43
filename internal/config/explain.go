package config

import (
	"mcp-all-in-one/internal/config/problem"
)

// Explain returns at length what a code of this package means and what to do,
// in English and Chinese; false when it is none of ours.
func Explain(code string) (en, zh string, ok bool) {
	e, ok := explanations[code]
	return e.en, e.zh, ok
}

// Codes returns the codes of this package.
func Codes() []string {
	codes := make([]string, 0, len(problem.Texts))
	for code := range problem.Texts {
		codes = append(codes, code)
	}
	return codes
}

// explanations by code; texts holds what is said at the place itself.
var explanations = map[string]struct{ en, zh string }{
	problem.NotFound: {"There is no config file where one was looked for. Name one with --config, or create the file that the message names; `mcp-all-in-one config path` shows every place.",
		"在查找的位置没有配置文件。用 --config 指定文件，或创建提示中的文件；`mcp-all-in-one config path` 列出全部位置。"},
	problem.Unreadable: {"The config file is there and cannot be opened or read. Check the path and its permissions.",
		"配置文件存在，但无法打开或读取。请检查路径和权限。"},
	problem.NotRegular: {"The config path leads to a folder, a device or a pipe. The configuration must be a plain file.",
		"配置路径指向目录、设备或管道。配置必须是普通文件。"},
	problem.TooLarge: {"The config file is larger than any configuration needs to be, so it was not read. Remove from it what is not configuration.",
		"配置文件过大，未读取。请删除其中不属于配置的内容。"},
	problem.WorldWrite: {"Everybody on this machine may write the config file, and so could make the gateway run any command. Take that right away with `chmod o-w FILE`; --allow-insecure-config reads the file all the same.",
		"本机任何人都可写此配置文件，因而能让网关执行任意命令。用 `chmod o-w FILE` 收回权限；--allow-insecure-config 可强制读取。"},
	problem.Owner: {"Another user or your group may write the config file, and so could make the gateway run commands: it is refused. `chown` it to yourself and `chmod go-w` it and its folder; --allow-insecure-config reads the file all the same. A project's file is read, because nothing of it runs that you have not approved.",
		"其他用户或同组用户可写此配置文件，因而能让网关执行命令：拒绝读取。请对文件及其目录执行 `chown` 和 `chmod go-w`；--allow-insecure-config 可强制读取。项目文件仍可读取，因为未经您批准的内容不会运行。"},
	problem.Empty: {`The config file has no content. The smallest one is {"mcpServers": {}}.`,
		`配置文件没有内容。最小的文件是 {"mcpServers": {}}。`},
	problem.Encoding: {"The config file is not UTF-8 text. Save it as UTF-8 in your editor.",
		"配置文件不是 UTF-8 文本。请在编辑器中另存为 UTF-8。"},
	problem.Syntax: {"The config file is neither JSON (comments and trailing commas are allowed) nor YAML at the place named. Nothing of the file is used until it can be read.",
		"配置文件在所示位置既不是合法的 JSON（允许注释和尾随逗号），也不是 YAML。在能够读取之前，整个文件都不生效。"},
	problem.Depth: {"Objects and lists of the config file are nested deeper than any configuration needs.",
		"配置文件中对象和数组的嵌套过深，任何配置都不需要如此。"},
	problem.Duplicate: {"A key appears twice in one object. Programs disagree about which of the two counts, so the file is refused; keep one.",
		"同一对象中一个键出现了两次。不同程序取值不一致，因此拒绝该文件；请只保留一个。"},
	problem.Aliases: {"The YAML aliases of the file unfold to far more values than are written. Write the values out.",
		"文件中的 YAML 别名展开后远多于所写内容。请直接写出内容。"},
	problem.NoServers: {`The file has none of the keys that hold servers: mcpServers, servers, mcp_servers, schemas, mcp-tester.servers. The smallest file is {"mcpServers": {}}.`,
		`文件中没有任何存放服务的键：mcpServers、servers、mcp_servers、schemas、mcp-tester.servers。最小的文件是 {"mcpServers": {}}。`},
	problem.TwoShapes: {"The file holds servers under two keys that mean the same list. Move them into one. mcpServers beside schemas is allowed: it is the schema called default.",
		"文件在两个含义相同的键下都有服务。请合并为一处。mcpServers 可以与 schemas 并存：它就是名为 default 的 schema。"},
	problem.UnknownKey: {"No key of this name exists, so it has no effect. The message names the nearest known one; docs/config.md lists them all.",
		"没有这个名称的键，因此不起作用。提示给出最接近的键；docs/config.md 列出全部键。"},
	problem.WrongType: {"The value has another type than this key takes, such as a text where a list belongs.",
		"值的类型与该键不符，例如应为数组却写成了文本。"},
	problem.NotOneOf: {"The key takes one of a few values, and this is none of them. The message lists them.",
		"该键只接受几个固定的值，当前值不在其中。提示中列出了这些值。"},
	problem.Range: {"The number, time or size is outside of what the key takes. The message gives both ends.",
		"数字、时间或大小超出该键的范围。提示给出了上下限。"},
	problem.Unit: {"The value cannot be read as what the key takes: a whole number, a time such as 30s or 5m, or a size such as 64MiB.",
		"值无法按该键的要求读取：整数、如 30s 或 5m 的时间、如 64MiB 的大小。"},
	problem.NoEffect: {"The key is known from another program's file and does nothing here. The rest of the file is used.",
		"该键来自其他程序的文件，在此不起作用。文件的其余部分照常使用。"},
	problem.TwoNames: {"Two keys of the entry are names of the same setting; the newer name counts and the other is ignored.",
		"条目中的两个键是同一设置的不同名称；以新名称为准，忽略另一个。"},
	problem.Replaced: {"The value cannot be used, and the default is used in its place.",
		"该值无法使用，改用默认值。"},
	problem.ProjectKey: {"A config file in the working tree comes from the author of the project, so it may only name servers; its other keys are ignored.",
		"工作目录中的配置文件出自项目作者，因此只能定义服务；其他键会被忽略。"},
	problem.ServerName: {"The server's name cannot be used: it is empty, or holds spaces or characters of ${...}. Use letters, digits, - and _.",
		"服务名无法使用：为空，或含有空格或 ${...} 中的字符。请使用字母、数字、- 和 _。"},
	problem.SameName: {"Two servers have names that clients could not tell apart once they are made fit for tool names. Rename one.",
		"两个服务的名称在转换为工具名之后无法区分。请重命名其中之一。"},
	problem.NoTarget: {"A server entry needs a command to run or a url to dial, and this one has neither.",
		"服务条目必须有要运行的 command 或要连接的 url，而该条目两者都没有。"},
	problem.TwoTargets: {"A server entry has both a command and a url, and only one can be meant. Keep that one.",
		"服务条目同时有 command 和 url，只能保留其中之一。"},
	problem.ShellLine: {"The command is a whole command line. It is never given to a shell: put the program into command and each argument into args.",
		"command 是一整行命令。命令不会交给 shell 执行：请把程序写入 command，每个参数写入 args。"},
	problem.Character: {"The value holds a character that must not be there, such as a NUL or a line break.",
		"值中含有不允许的字符，例如 NUL 或换行。"},
	problem.URL: {"The address cannot be used. It must look like https://host/path; plain http and file:// count only where the message says so.",
		"地址无法使用。应形如 https://host/path；仅在提示说明之处才接受 http 或 file://。"},
	problem.URLPassword: {"A password stands in the url, from where it gets into logs. Move it into headers, as ${VAR} or ${secret:name}.",
		"url 中含有密码，会因此进入日志。请移到 headers，使用 ${VAR} 或 ${secret:name}。"},
	problem.TypeTarget: {"The type of the entry does not fit what it has: stdio needs a command, http and sse need a url. Without a type it is found out.",
		"条目的 type 与内容不符：stdio 需要 command，http 和 sse 需要 url。省略 type 则自动判断。"},
	problem.SchemaName: {"The schema's name cannot be used, as it becomes part of a URL: start with a letter, then letters, digits, - and _; names of the gateway's own paths are taken.",
		"schema 名无法使用，因为它是 URL 的一部分：以字母开头，其后为字母、数字、- 和 _；网关自身路径的名称已被占用。"},
	problem.Undefined: {"The entry uses a variable, file or secret that is not defined, so this one server is off and the others run. Define it in the environment of the gateway, or with `mcp-all-in-one secret set NAME`.",
		"条目使用了未定义的变量、文件或密钥，因此只停用这一个服务，其他服务照常运行。请在网关的环境变量中定义，或用 `mcp-all-in-one secret set NAME` 设置。"},
	problem.UndefTop: {"A setting uses a variable that is not defined, so the setting is not used. Define it, or write ${NAME:-default}.",
		"某项设置使用了未定义的变量，因此该设置不生效。请定义变量，或写成 ${NAME:-默认值}。"},
	problem.EnvName: {"A key under env cannot be the name of an environment variable: names are not empty and have no = in them.",
		"env 下的键不能作为环境变量名：名称不能为空，且不能含 =。"},
	problem.Header: {"A key under headers cannot be the name of an HTTP header. Use letters, digits and -.",
		"headers 下的键不能作为 HTTP 请求头名称。请使用字母、数字和 -。"},
	problem.Exposed: {"The address can be reached from other machines, and nothing says who may use the gateway. Set access.keys or access.oauth, or listen on 127.0.0.1.",
		"该地址可被其他机器访问，但没有配置谁可以使用网关。请配置 access.keys 或 access.oauth，或监听 127.0.0.1。"},
	problem.AnyOrigin: {`The origin "*" would let every web page that you visit use the gateway, so it counts only together with access. Name the origins instead.`,
		`来源 "*" 会让你访问的任何网页都能使用网关，因此只在配置 access 时才生效。请改为列出具体来源。`},
	problem.NoKeys: {"access.keys names a file that does not exist, so every client is refused with 401. Correct the path, or make the first key with `mcp-all-in-one key create NAME`.",
		"access.keys 指向的文件不存在，因此所有客户端都会收到 401。请修正路径，或用 `mcp-all-in-one key create NAME` 创建第一个密钥。"},
	problem.Plain: {"The address can be reached from other machines, and everybody on the way could read the keys that clients send there. Set server.tls (docs/tls.md), or listen on 127.0.0.1. Set server.insecure: true where a proxy or the platform in front adds TLS, or where you trust the network.",
		"该地址可被其他机器访问，途中任何人都能读到客户端发送的密钥。请配置 server.tls（见 docs/tls.md），或监听 127.0.0.1。若前面的代理或平台提供 TLS，或网络可信，请设置 server.insecure: true。"},
	problem.TLS: {"server.tls takes its certificate from one place: the two files cert and key, or an ACME authority for the public names in acme.domains. An authority gives no certificate for addresses, wildcards and names without a dot. See docs/tls.md.",
		"server.tls 的证书只能来自一处：cert 与 key 两个文件，或由 ACME 机构为 acme.domains 中的公开域名签发。机构不会为地址、通配符和不含点的名称签发证书。见 docs/tls.md。"},
	problem.Cluster: {"The section cluster makes several gateways one. All need the same secret of 32 bytes or more in cluster.secret: make one with `mcp-all-in-one cluster secret new` and put it into a file on each machine. See docs/cluster.md.",
		"cluster 一节使多个网关成为一体。各网关的 cluster.secret 必须相同，且至少 32 字节：用 `mcp-all-in-one cluster secret new` 生成，放入各机器的文件。见 docs/cluster.md。"},
	problem.Pending: {"A tool call, or the file of a project, added or changed this server. It is not started until a person has read its command: `mcp-all-in-one approve NAME`, or the console.",
		"该服务由工具调用或项目文件添加或修改。在有人确认其命令之前不会启动：`mcp-all-in-one approve NAME`，或使用控制台。"},
	problem.Marks: {"The file that records which servers wait for approval cannot be read, so nothing is started. Repair it; deleting it approves everything.",
		"记录待批准服务的文件无法读取，因此不启动任何服务。请修复它；删除它等于批准全部。"},
}
