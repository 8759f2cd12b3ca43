package problem

// The codes of problems. A code never changes its meaning.
const (
	NotFound    = "AIO2001"
	Unreadable  = "AIO2002"
	NotRegular  = "AIO2003"
	TooLarge    = "AIO2004"
	WorldWrite  = "AIO2005"
	Owner       = "AIO2006"
	Empty       = "AIO2007"
	Encoding    = "AIO2008"
	Syntax      = "AIO2009"
	Depth       = "AIO2010"
	Duplicate   = "AIO2011"
	Aliases     = "AIO2012"
	NoServers   = "AIO2013"
	TwoShapes   = "AIO2014"
	Format      = "AIO2015"
	UnknownKey  = "AIO2020"
	WrongType   = "AIO2021"
	NotOneOf    = "AIO2022"
	Range       = "AIO2023"
	Unit        = "AIO2024"
	NoEffect    = "AIO2025"
	TwoNames    = "AIO2026"
	Replaced    = "AIO2027"
	ProjectKey  = "AIO2028"
	ServerName  = "AIO2030"
	SameName    = "AIO2031"
	NoTarget    = "AIO2032"
	TwoTargets  = "AIO2033"
	ShellLine   = "AIO2034"
	Character   = "AIO2035"
	URL         = "AIO2036"
	URLPassword = "AIO2037"
	TypeTarget  = "AIO2038"
	SchemaName  = "AIO2039"
	Undefined   = "AIO2040"
	UndefTop    = "AIO2041"
	EnvName     = "AIO2042"
	Header      = "AIO2043"
	UserValue   = "AIO2044"
	Script      = "AIO2045"
	Exposed     = "AIO2050"
	AnyOrigin   = "AIO2051"
	NoKeys      = "AIO2052"
	Plain       = "AIO2053"
	TLS         = "AIO2054"
	Cluster     = "AIO2055"
	Pending     = "AIO2060"
	Marks       = "AIO2061"
	Proposed    = "AIO2062"
	LockFile    = "AIO2070"
)

// text has the message and the hint of a code in both languages.
type text struct{ En, ZH, Hint, HintZH string }

var Texts = map[string]text{
	NotFound:    {"config file not found", "未找到配置文件", "name one with --config, or create one of the files above", "用 --config 指定文件，或创建上述文件之一"},
	Unreadable:  {"config file cannot be read: %s", "无法读取配置文件：%s", "check the path and its permissions", "检查路径和权限"},
	NotRegular:  {"not a regular file (%s)", "不是普通文件（%s）", "the configuration must be a plain file", "配置必须是普通文件"},
	TooLarge:    {"file is larger than %s", "文件大于 %s", "split the file or remove what is not configuration", "拆分文件或删除非配置内容"},
	WorldWrite:  {"every user can write this file (mode %s) and could make the gateway run any command", "任何用户都可写此文件（权限 %s），因而能让网关执行任意命令", "chmod go-w the file, or override with --allow-insecure-config", "对文件执行 chmod go-w，或使用 --allow-insecure-config"},
	Owner:       {"other users can write this file (%s)", "其他用户可写此文件（%s）", "let only yourself write it, with chown and chmod go-w, or override with --allow-insecure-config", "用 chown 与 chmod go-w 使其仅供你自己写入，或使用 --allow-insecure-config"},
	Empty:       {"file is empty", "文件为空", `the smallest file is {"mcpServers": {}}`, `最小的文件是 {"mcpServers": {}}`},
	Encoding:    {"file is not UTF-8 (%s)", "文件不是 UTF-8 编码（%s）", "save it as UTF-8", "请另存为 UTF-8"},
	Syntax:      {"%s", "语法错误：%s", "correct the file at this place", "请修正此处"},
	Depth:       {"nested more than %d levels deep", "嵌套超过 %d 层", "use fewer levels", "请减少嵌套层数"},
	Duplicate:   {"key %q appears twice, first at line %d, column %d", "键 %q 重复，首次出现在第 %d 行第 %d 列", "keep one of them", "只保留一个"},
	Aliases:     {"aliases unfold to more than %d values", "别名展开后超过 %d 个值", "write the values out", "请直接写出内容"},
	NoServers:   {"no servers here: the file has no key mcpServers, servers, mcp_servers, schemas or mcp-tester.servers", "没有服务器：缺少 mcpServers、servers、mcp_servers、schemas 或 mcp-tester.servers", `the smallest file is {"mcpServers": {}}`, `最小的文件是 {"mcpServers": {}}`},
	TwoShapes:   {"servers are given twice: as %s, and as %s at line %d, column %d", "服务器出现了两次：%s，以及 %s（第 %d 行第 %d 列）", "move them into one of the two", "请合并为一处"},
	Format:      {"%s files are not read", "不支持 %s 文件", "write the configuration as JSON, comments are allowed, or as YAML", "请用 JSON（允许注释）或 YAML 编写配置"},
	UnknownKey:  {"unknown key %q", "未知的键 %q", "remove it, or see docs/config.md", "请删除，或查阅 docs/config.md"},
	WrongType:   {"must be %s, not %s", "必须是%s，而不是%s", "correct the value", "请修正此值"},
	NotOneOf:    {"%q is not %s", "%q 不是%s", "correct the value", "请修正此值"},
	Range:       {"%s is out of range: %s to %s", "%s 超出范围：%s 至 %s", "choose a value in between", "请使用范围内的值"},
	Unit:        {"%q is not %s", "%q 不是有效的%s", "write it in this form", "请按此格式书写"},
	NoEffect:    {"%q has no effect here: %s", "%q 在此无效：%s", "remove it", "可以删除"},
	TwoNames:    {"%q is ignored because %q is set, too", "已存在 %[2]q，忽略 %[1]q", "remove one of them", "删除其中之一"},
	Replaced:    {"%s; the default %q is used", "%s；使用默认值 %q", "correct or remove it", "请修正或删除"},
	ProjectKey:  {"%q of a project's file is ignored", "忽略项目文件中的 %q", "a file in the working tree may only name servers", "工作目录中的文件只能定义服务器"},
	ServerName:  {"server name %q %s", "服务器名 %q 无效：%s", "use letters, digits, - and _", "请使用字母、数字、- 和 _"},
	SameName:    {"server name %q cannot be distinguished from %q at line %d, column %d", "服务器名 %q 与 %q（第 %d 行第 %d 列）无法区分", "rename one of them", "请重命名其中之一"},
	NoTarget:    {"server %q has neither command nor url", "服务器 %q 既没有 command 也没有 url", "a server needs one of the two, or scripts", "必须有其一，或有 scripts"},
	TwoTargets:  {"server %q has both %s and %s", "服务器 %q 同时有 %s 和 %s", "keep one of them", "只保留其中之一"},
	ShellLine:   {"command %q has spaces and there is no such file; it is never given to a shell", "command %q 含有空格且没有该文件；命令不会交给 shell 执行", "put the arguments into args", "请把参数放入 args"},
	Character:   {"%s contains %s", "%s含有%s", "remove it", "请删除"},
	URL:         {"url %q %s", "url %q 无效：%s", "it must look like https://host/path", "应形如 https://host/path"},
	URLPassword: {"the url of server %q contains a password", "服务器 %q 的 url 含有密码", "move it into headers, as ${VAR} or ${secret:name}", "请移到 headers，使用 ${VAR} 或 ${secret:name}"},
	TypeTarget:  {"type %q needs %s", "类型 %q 需要%s", "correct the type, or remove it", "请修正或删除 type"},
	SchemaName:  {"schema name %q %s", "schema 名 %q %s", "start with a letter; then letters, digits, - and _", "以字母开头，其后为字母、数字、- 和 _"},
	Undefined:   {"%s is not defined, so server %q is off", "%s 未定义，服务器 %q 已停用", "define it", "请定义它"},
	UndefTop:    {"%s is not defined, so this value is not used", "%s 未定义，忽略此值", "define it, or write ${NAME:-default}", "请定义它，或写成 ${NAME:-默认值}"},
	EnvName:     {"%q cannot be the name of an environment variable", "%q 不能作为环境变量名", "a name is not empty and has no = in it", "名称不能为空，且不能含 ="},
	Header:      {"%q cannot be the name of a header", "%q 不能作为请求头名称", "use letters, digits and -", "请使用字母、数字和 -"},
	UserValue:   {"the value %q of each user %s", "每个用户的值 %q %s", "write \"env\": \"VARIABLE\" for a server with a command, \"header\": \"NAME\" for one with a url", "带 command 的服务器写 \"env\": \"变量名\"，带 url 的服务器写 \"header\": \"名称\""},
	Script:      {"script %q %s", "脚本 %q %s", "write \"code\": \"return 1\" or \"file\": \"NAME.js\"", "请写 \"code\": \"return 1\" 或 \"file\": \"NAME.js\""},
	Exposed:     {"other machines can reach %s, but access is not configured", "其他机器可以访问 %s，但未配置 access", "create a key with: mcp-all-in-one key create NAME, set access.oauth, or listen on 127.0.0.1", "用 mcp-all-in-one key create NAME 创建密钥，或配置 access.oauth，或监听 127.0.0.1"},
	AnyOrigin:   {`origin "*" is not used: %s`, `来源 "*" 不生效：%s`, "name the origins, or set access", "请列出来源，或配置 access"},
	NoKeys:      {"the key file %s does not exist, so every client is refused", "密钥文件 %s 不存在，因此所有客户端都会被拒绝", "create the first key with: mcp-all-in-one key create NAME", "用 mcp-all-in-one key create NAME 创建第一个密钥"},
	Plain:       {"other machines can reach %s, and a key sent there over plain HTTP can be read on the network", "其他机器可以访问 %s，以明文 HTTP 发送到此处的密钥会在网络中被读取", "set server.tls, or listen on 127.0.0.1; if a proxy in front adds TLS or you trust the network, set server.insecure: true", "请配置 server.tls，或监听 127.0.0.1；若前面有提供 TLS 的代理或网络可信，请设置 server.insecure: true"},
	TLS:         {"certificate or key: %s %s", "证书或私钥：%s %s", "set server.tls.cert and server.tls.key to two files in PEM, or server.tls.acme.domains to names that point to this machine", "请将 server.tls.cert 与 server.tls.key 设为两个 PEM 文件，或将 server.tls.acme.domains 设为指向本机的域名"},
	Cluster:     {"the cluster: %s %s", "集群：%s %s", "see docs/cluster.md", "见 docs/cluster.md"},
	Pending:     {"server %q waits for approval and is not started", "服务器 %q 等待批准，未启动", "read its command, then approve it", "请确认其命令后批准"},
	Proposed:    {"the new entry of server %q waits for approval; the old entry runs until then", "服务器 %q 的新条目等待批准；在此之前继续运行原条目", "read its command, then approve it", "请确认其命令后批准"},
	LockFile:    {"the lock file cannot be read: %v", "无法读取锁文件：%v", "restore it from a backup or version control, or delete it and lock the servers again: mcp-all-in-one lock", "请从备份或版本控制恢复，或删除后重新锁定：mcp-all-in-one lock"},
	Marks:       {"the record of unapproved servers cannot be read: %s", "无法读取待批准记录：%s", "repair it; deleting it approves everything", "请修复；删除它等于批准全部"},
}
