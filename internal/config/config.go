// Package config owns the configuration file.
//
// It finds the file, reads it into a Config with defaults and variables, checks
// it with line and column, compares two versions of it and watches it. It does
// not start servers, dial or listen.
package config

import (
	"encoding/json"
	"net"
	"strings"
	"time"

	"mcp-all-in-one/internal/config/approval"
	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/config/layout"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/i18n"
)

//go:generate go test -count=1 -run ^TestDocs$ . -update

// DefaultSchema is the schema of servers that name no schema.
const DefaultSchema = layout.DefaultSchema

// Config is one file, checked, with its defaults filled in and its variables
// resolved. It is immutable once it is loaded.
type Config struct {
	Path    string          `json:"-"`
	Format  document.Format `json:"-"`
	Shape   layout.Shape    `json:"-"`
	Project bool            `json:"-"` // the file is part of the working tree
	Created bool            `json:"-"` // the file was missing and has just been written
	Schemas []*Schema       `json:"-"` // in the order of the file
	Named   []string        `json:"-"` // the variables in the file, such as file:PATH

	Server     ServerSection `json:"server" doc:"Where the gateway listens." zh:"网关监听的地址。"`
	CLI        CLI           `json:"cli" doc:"Settings of the command line." zh:"命令行的通信方式。"`
	Logging    Logging       `json:"logging" doc:"What is logged, and where to." zh:"记录哪些日志，写到何处。"`
	Roots      []Root        `json:"roots" doc:"Roots for servers that ask for them outside of a call." zh:"默认根目录：服务器在调用之外询问时得到的根目录。"`
	Sampling   Sampling      `json:"sampling" doc:"An OpenAI-compatible endpoint that answers the sampling requests of clients to the gateway." zh:"回答采样请求的 OpenAI 兼容端点；请求由客户端发给网关。"`
	Inbox      Inbox         `json:"inbox" doc:"Notifications about questions and approvals that wait for a person." zh:"提问和批准等待人处理时发出的通知。"`
	Answers    Answers       `json:"answers" doc:"Fixed answers to the sampling and elicitation requests of clients to the gateway. Questions of servers are for the client or the console." zh:"固定答案：回答客户端发给网关的采样和询问请求。服务器的询问由客户端或控制台回答。"`
	Access     Access        `json:"access" doc:"Who may use this gateway." zh:"谁可以使用本网关。"`
	Limits     Limits        `json:"limits" doc:"All limits of the gateway." zh:"网关的全部限制。"`
	StartWait  time.Duration `json:"startWait" def:"4s" min:"0s" max:"10m" doc:"How long the first list of a session waits for servers that are starting; the handshake waits as long, at most 4 s." zh:"启动等待时间：会话的第一次列表最多等待启动中的服务器多久；握手同样等待，但最多 4 秒。"`
	Compat     string        `json:"compat" def:"auto" enum:"auto|seed|spec" doc:"Form of some answers: spec follows the specification, seed the programs mcps-proxy and mcpx (isError in every result, an answer to logging/setLevel). auto uses seed for clients that declare capabilities of a server, as theirs do." zh:"部分应答的形式：spec 遵循规范；seed 与 mcps-proxy、mcpx 一致（每个结果都有 isError，logging/setLevel 有应答内容）。auto 对声明了服务端能力的客户端使用 seed，这些程序的客户端正是如此。"`
	Mode       string        `json:"mode" enum:"full|compact|search|code|auto" doc:"Mode of every schema that sets none; the program's name decides when absent." zh:"默认模式：用于未单独设置的 schema；缺省由程序名决定。"`
	Naming     string        `json:"naming" def:"prefix" enum:"prefix|none" doc:"Naming of every schema that sets none." zh:"默认命名方式：用于未单独设置的 schema。"`
	Fit        string        `json:"fit" def:"off" enum:"off|auto|claude|cursor|gemini|openai|vscode|windsurf" doc:"fit of every schema that sets none." zh:"按客户端的限制显示工具：用于未单独设置的 schema。"`
	Compact    Compact       `json:"compact" doc:"How compact mode shows tools." zh:"紧凑模式如何显示工具。"`
	Code       bool          `json:"code" doc:"Show run in the compact and search modes: a tool that runs a script which calls tools. For every schema that does not set it." zh:"脚本工具 run：在 compact 与 search 模式中显示，运行可调用工具的脚本。对未单独设置的 schema 有效。"`
	Scripts    Scripts       `json:"scripts" doc:"Limits of one script." zh:"单个脚本的限制。"`
	Results    Results       `json:"results" doc:"Large results: shown in part, kept whole for a while." zh:"大型结果：只显示一部分，完整内容保存一段时间。"`
	Tokens     string        `json:"tokens" def:"file" enum:"file|keychain" doc:"Where the tokens of auth login are kept: an encrypted file, or the user's keychain." zh:"auth login 的令牌存放处：加密文件或系统钥匙串。"`
	Audit      Audit         `json:"audit" doc:"A record of who called what, and how it ended." zh:"审计日志：谁调用了什么，结果如何。"`
	Metrics    Metrics       `json:"metrics" doc:"Metrics for Prometheus at /metrics." zh:"/metrics 上的 Prometheus 指标。"`
	Usage      Usage         `json:"usage" doc:"Statistics per day of who called what; see docs/observability.md." zh:"按天统计谁调用了什么；见 docs/observability.md。"`
	Registries []Registry    `json:"registries" doc:"MCP registries that add and search ask, in order; the official one is asked last, an empty list asks none." zh:"MCP 注册表：add 与 search 依次询问；官方注册表最后询问，空列表则不询问任何注册表。"`
	Locked     bool          `json:"locked" doc:"Start only servers that match mcp.lock; see docs/lock.md." zh:"只启动与 mcp.lock 一致的服务器；见 docs/lock.md。"`
	Cluster    Cluster       `json:"cluster" doc:"A cluster of gateways behind one load balancer; see docs/cluster.md." zh:"位于同一负载均衡之后的网关集群；见 docs/cluster.md。"`
	Tracing    Tracing       `json:"tracing" doc:"Traces for OpenTelemetry." zh:"OpenTelemetry 链路追踪。"`

	Problems []problem.Problem `json:"-"` // warnings, and the reasons why servers are off

	home  string           // home directory of the user whose approvals count
	share approval.Sharing // returns the documents for approvals that the replicas share
}

// ServerSection says where the gateway listens.
type ServerSection struct {
	Host  string   `json:"host" def:"127.0.0.1" doc:"Address to listen on. Anything but loopback needs access." zh:"监听地址；非回环地址必须配置 access。"`
	Port  int      `json:"port" min:"0" max:"65535" doc:"Port to listen on; 0 takes a free one. Absent: the program's own (3095; 8000 for mcpx)." zh:"监听端口；0 为任意空闲端口。缺省为程序自己的端口（3095；mcpx 为 8000）。"`
	Hosts []string `json:"hosts" doc:"Host names to answer to besides those of the address." zh:"除监听地址外接受的 Host。"`
	CORS  CORS     `json:"cors" doc:"Access for web pages of other origins." zh:"其他来源的网页的跨域访问。"`
	TLS   TLS      `json:"tls" doc:"Serve HTTPS, with a certificate of yours or one from an ACME authority." zh:"以 HTTPS 提供服务，使用自己的证书或由 ACME 机构签发的证书。"`

	Insecure bool `json:"insecure" doc:"Allow plain HTTP on an address that other machines can reach. Anyone on the network can read keys and answers: only for a trusted network, such as behind a proxy that adds TLS." zh:"允许明文 HTTP：用于他人可访问的地址。途中任何人都能读到密钥与内容：仅用于可信网络，例如位于提供 TLS 的代理之后。"`

	// PortSet distinguishes port 0 from an absent port.
	PortSet bool `json:"-"`
}

// CORS says which web pages may call the gateway.
type CORS struct {
	Enabled        bool     `json:"enabled" def:"true" doc:"Answer cross-origin requests of the allowed origins." zh:"是否响应允许来源的跨域请求。"`
	Origins        []string `json:"origins" doc:"Allowed origins. \"*\" counts only with access or allowAnyOrigin." zh:"允许的来源；\"*\" 仅在启用 access 或 allowAnyOrigin 时有效。"`
	Methods        []string `json:"methods" doc:"Allowed methods." zh:"允许的方法。"`
	Credentials    bool     `json:"credentials" doc:"Allow credentials; never together with \"*\"." zh:"允许凭据；不可与 \"*\" 同用。"`
	AllowedHeaders []string `json:"allowedHeaders" doc:"Headers allowed besides those of MCP." zh:"除 MCP 自身外允许的请求头。"`
	AllowAnyOrigin bool     `json:"allowAnyOrigin" doc:"Let \"*\" count without access." zh:"未启用 access 时也允许 \"*\"。"`
}

// CLI is the section of the command line.
type CLI struct {
	Stdio Stdio `json:"stdio" doc:"Settings of stdio." zh:"标准输入输出。"`
}

// Stdio configures the framing of the stdio front. An invalid value is replaced
// by its default.
type Stdio struct {
	Encoding  string        `json:"encoding" def:"utf8" enum:"utf8|utf-8" doc:"Only utf8." zh:"字符编码；仅支持 utf8。"`
	Delimiter string        `json:"delimiter" nul:"true" def:"\n" doc:"One control character between messages." zh:"消息之间的分隔控制字符。"`
	Timeout   time.Duration `json:"timeout" def:"30s" min:"1ms" max:"24h" doc:"Has no effect; the timeout of each server applies." zh:"不起作用：以各服务器的 timeout 为准。"`
}

// Logging says what is logged, and where to.
type Logging struct {
	Level    string `json:"level" def:"info" enum:"error|warn|warning|info|debug" doc:"Lowest level that is written." zh:"最低日志级别。"`
	File     string `json:"file" doc:"Log file; none when absent." zh:"日志文件；缺省不写文件。"`
	MaxSize  int64  `json:"maxSize" unit:"size" def:"10MB" min:"1" doc:"Size at which the file is rotated." zh:"单个日志文件的最大大小。"`
	MaxFiles int    `json:"maxFiles" def:"5" min:"1" max:"100" doc:"Files that are kept, the current one included." zh:"保留的日志文件数（含当前文件）。"`
	Console  bool   `json:"console" def:"true" doc:"Write to standard error." zh:"是否写到标准错误。"`
	Format   string `json:"format" def:"text" enum:"text|json" doc:"Form of a line." zh:"日志格式。"`
}

// Root is one directory that servers may work in.
type Root struct {
	URI  string `json:"uri" doc:"A file:// URI." zh:"file:// URI。"`
	Name string `json:"name,omitempty" doc:"Display name." zh:"名称。"`
}

// Sampling is a model that answers the sampling requests of clients.
type Sampling struct {
	URL   string `json:"url" doc:"Base URL of the endpoint." zh:"端点地址。"`
	Model string `json:"model" doc:"Model to ask for." zh:"模型名。"`
	Key   Secret `json:"key" doc:"API key." zh:"API 密钥。"`
}

// Inbox says who is notified of questions, calls and servers that wait for a
// person.
type Inbox struct {
	Webhook Webhook `json:"webhook" doc:"A message for every question, call and server that waits for a person." zh:"每当有提问、调用或服务器等待人处理时发送的消息。"`
	Console string  `json:"console" doc:"Address of this gateway in the links of messages, such as https://gateway.example.com. Absent: the address that it listens on." zh:"消息链接中本网关的地址，如 https://gateway.example.com；缺省为监听地址。"`
}

// Webhook says where messages are sent.
type Webhook struct {
	URL      Secret            `json:"url" doc:"Address that gets a POST; none when absent." zh:"接收 POST 的地址；缺省不发送。"`
	Format   string            `json:"format" def:"json" enum:"json|ntfy|slack" doc:"Format of the message: json, plain text as for ntfy, or the format of Slack and Mattermost." zh:"消息格式：json、ntfy 的文本，或 Slack、Mattermost 等接受的格式。"`
	Headers  map[string]Secret `json:"headers" doc:"Headers sent to it." zh:"附带的请求头。"`
	Language string            `json:"language" def:"en" enum:"en|zh" doc:"Language of the messages." zh:"消息的语言。"`
}

// Answers holds fixed answers to the requests of clients; questions of servers
// never get them.
type Answers struct {
	Sampling    *SamplingAnswer    `json:"sampling" doc:"Answer to sampling/createMessage." zh:"对 sampling/createMessage 的回答。"`
	Elicitation *ElicitationAnswer `json:"elicitation" doc:"Answer to elicitation/create." zh:"对 elicitation/create 的回答。"`
}

// SamplingAnswer is the answer to sampling/createMessage.
type SamplingAnswer struct {
	Text       string `json:"text" doc:"Text of the message." zh:"消息文本。"`
	Model      string `json:"model" def:"fixed" doc:"Model named in the answer." zh:"回答中的模型名。"`
	StopReason string `json:"stopReason" def:"endTurn" doc:"Why the model stopped." zh:"停止原因。"`
}

// ElicitationAnswer says how elicitation/create is answered.
type ElicitationAnswer struct {
	Action   string                     `json:"action" def:"accept" enum:"accept|decline|cancel" doc:"The answer's action." zh:"回答的动作。"`
	Fields   map[string]json.RawMessage `json:"fields" doc:"Value by field name." zh:"按字段名给出的值。"`
	Defaults bool                       `json:"defaults" def:"true" doc:"Use the schema's default for the other fields; without one the question stays unanswered." zh:"其余字段使用 schema 的默认值；没有默认值时不回答。"`
}

// Access says who may use the gateway.
type Access struct {
	Enabled bool    `json:"enabled" doc:"Require a key or token. On if keys, key or oauth.issuer is set." zh:"是否要求密钥或令牌；设置了 keys、key 或 oauth.issuer 时默认开启。"`
	Keys    string  `json:"keys" doc:"File with the API keys; relative to the folder of the config file." zh:"存放 API 密钥的文件；相对于配置文件所在目录。"`
	Key     Secret  `json:"key" doc:"One API key, for containers and services: ${NAME} or ${file:PATH}. At least 20 characters; it may use everything and change nothing." zh:"单个 API 密钥，用于容器和系统服务：${NAME} 或 ${file:PATH}。至少 20 个字符；可使用全部功能，不能修改配置。"`
	OAuth   OAuth   `json:"oauth" doc:"Tokens of an authorization server." zh:"授权服务器的令牌。"`
	Share   Sharing `json:"share" doc:"Give tokens to clients that sign in, for example clients in the cloud, after a person has confirmed." zh:"经人确认后，为登录的客户端（如云端客户端）签发令牌。"`
}

// OAuth says whose tokens are accepted.
type OAuth struct {
	Issuer     string   `json:"issuer" doc:"Issuer of accepted tokens, https." zh:"令牌签发者。"`
	Resource   string   `json:"resource" doc:"This gateway's own resource identifier; the audience a token must name." zh:"本网关的资源标识，即令牌的受众。"`
	Audience   []string `json:"audience" doc:"Further audiences that are accepted." zh:"另外接受的受众。"`
	JWKS       string   `json:"jwks" doc:"Address of the public keys, if the metadata of the issuer does not have it." zh:"公钥地址，签发者的元数据未给出时使用。"`
	Scopes     []string `json:"scopes" doc:"Scopes that a token needs." zh:"令牌必须具有的范围。"`
	AdminScope string   `json:"adminScope" def:"admin" doc:"Scope that allows changes of the configuration." zh:"可以修改配置的范围。"`
}

// Compact says what compact mode prints.
type Compact struct {
	Types bool `json:"types" doc:"Print schemas as TypeScript types." zh:"以 TypeScript 类型显示 schema。"`
}

// Scripts bounds what one script of code mode may use.
type Scripts struct {
	Memory   int64         `json:"memory" unit:"size" def:"64MiB" min:"8388608" max:"4294967296" doc:"Memory of a script." zh:"脚本可用的内存。"`
	CPU      time.Duration `json:"cpu" def:"5s" min:"10ms" max:"10m" doc:"Processor time of a script." zh:"脚本可用的处理器时间。"`
	Timeout  time.Duration `json:"timeout" def:"2m" min:"100ms" max:"24h" doc:"How long a script may run, without the time in which a person is asked." zh:"脚本最长运行时间，不含等待人回答的时间。"`
	Calls    int           `json:"calls" def:"100" min:"1" max:"100000" doc:"Calls that one script may make." zh:"单个脚本可发出的调用数。"`
	Parallel int           `json:"parallel" def:"8" min:"1" max:"1000" doc:"Calls of one script that run at once; the others wait in order." zh:"单个脚本同时运行的调用数，其余按顺序等待。"`
	Output   int64         `json:"output" unit:"size" def:"8KiB" min:"256" max:"16777216" doc:"How much of the value of a script is shown; the whole is kept." zh:"脚本返回值的显示上限；完整内容另行保存。"`
	Log      int64         `json:"log" unit:"size" def:"4KiB" min:"256" max:"1048576" doc:"How much of the log of a script is shown: half of it from the beginning, half from the end." zh:"脚本日志的显示上限：开头与结尾各一半。"`
	Code     int64         `json:"code" unit:"size" def:"64KiB" min:"256" max:"4194304" doc:"Largest code of a script that a client runs." zh:"客户端所运行脚本的代码大小上限。"`
}

// Results sets the size above which a result is shown in part and kept whole.
type Results struct {
	Limit int64 `json:"limit" unit:"size" def:"0" min:"0" doc:"Size above which a text is shown in part; 0 passes everything." zh:"文本的显示上限：超过此大小的只显示一部分；0 为全部显示。"`
	Blobs int64 `json:"blobs" unit:"size" def:"0" min:"0" doc:"Size above which a picture, a sound or a blob is shown as a link; 0 passes everything." zh:"图片、音频与二进制内容的显示上限：超过此大小的只显示链接；0 为全部显示。"`

	Structured string `json:"structured" def:"whole" enum:"whole|cut" doc:"What happens to structured content above the limit: it passes whole, or is shown in part like a text, and its tool is listed without outputSchema." zh:"超过上限的结构化内容：完整传递，或像文本一样只显示一部分，且其工具列出时不带 outputSchema。"`

	Head int64         `json:"head" unit:"size" def:"2KiB" min:"0" doc:"How much of its beginning is shown." zh:"显示的开头部分大小。"`
	Tail int64         `json:"tail" unit:"size" def:"1KiB" min:"0" doc:"How much of its end is shown." zh:"显示的结尾部分大小。"`
	Keep time.Duration `json:"keep" def:"1h" min:"1s" max:"720h" doc:"How long a result is kept after it was last read." zh:"结果在最后一次读取后保存多久。"`
	Disk int64         `json:"disk" unit:"size" def:"256MiB" min:"0" doc:"Disk space for all kept results; one client may use a quarter of it." zh:"保存的结果最多占用的磁盘空间；单个客户端最多四分之一。"`
}

// ResultLimit is the result limit of a schema, a server or a tool.
type ResultLimit struct {
	Limit      int64  `json:"limit" unit:"size" def:"0" min:"0" doc:"Size above which a text is shown in part; 0 uses the setting one level up." zh:"超过此大小的文本只显示一部分；0 为沿用上级设置。"`
	Blobs      int64  `json:"blobs" unit:"size" def:"0" min:"0" doc:"Size above which a picture, a sound or a blob is shown as a link; 0 uses the setting one level up." zh:"超过此大小的图片、音频或二进制内容只显示链接；0 为沿用上级设置。"`
	Structured string `json:"structured" enum:"whole|cut" doc:"What happens to structured content above the limit; absent uses the setting one level up." zh:"如何处理超过上限的结构化内容；缺省沿用上级设置。"`
}

// StructuredCut means that structured content above the limit is shown in part.
const StructuredCut = "cut"

// Cuts reports whether large results are shown in part.
func (r *Results) Cuts() bool { return r.Limit > 0 || r.Blobs > 0 }

func (r *ResultLimit) cuts() bool { return r.Limit > 0 || r.Blobs > 0 }

// Audit says where calls are recorded permanently.
type Audit struct {
	File     string `json:"file" doc:"File of one JSON line per call; none when absent. Relative to the folder of the config file." zh:"每次调用一行 JSON 的文件；缺省不记录。相对于配置文件所在目录。"`
	MaxSize  int64  `json:"maxSize" unit:"size" def:"10MB" min:"1" doc:"Size at which the file is rotated." zh:"单个审计文件的最大大小。"`
	MaxFiles int    `json:"maxFiles" def:"10" min:"1" max:"1000" doc:"Files that are kept, the current one included." zh:"保留的审计文件数（含当前文件）。"`
}

// Metrics says whether metrics are served.
type Metrics struct {
	Enabled bool `json:"enabled" def:"true" doc:"Serve /metrics." zh:"是否提供 /metrics。"`
}

// Usage says whether calls are counted per day, and how long the figures are
// kept.
type Usage struct {
	Enabled bool `json:"enabled" def:"true" doc:"Count calls: who, what, how long, how much; no arguments, no results." zh:"统计调用：谁、什么、多久、多少；不含参数与结果。"`
	Days    int  `json:"days" def:"30" min:"1" max:"366" doc:"Days for which statistics are kept, also after counting was switched off." zh:"统计数据保留的天数，停止统计后也按此清除。"`
}

// OfficialRegistry is the name of the registry that is used by default.
const OfficialRegistry = "official"

// Registry is a list of servers that can be added by name.
type Registry struct {
	Name  string   `json:"name" doc:"Display name." zh:"名称。"`
	URL   string   `json:"url" doc:"Base address, https." zh:"基础地址，必须为 https。"`
	Token Secret   `json:"token" doc:"Bearer token, sent to this registry only." zh:"访问令牌，只发送给此注册表。"`
	Auth  Auth     `json:"auth" doc:"How to sign in to a registry that requires it; see auth login." zh:"需要登录的注册表的登录方式；见 auth login。"`
	Names []string `json:"names" doc:"Names of servers that are looked up in this registry only; * matches any text." zh:"只在此处查询的服务器名；* 匹配任意文本。"`
}

// Tracing says where traces are sent.
type Tracing struct {
	URL     string            `json:"url" doc:"Base address of a collector that speaks OTLP over HTTP, such as http://127.0.0.1:4318; none when absent." zh:"OTLP/HTTP 收集器地址，如 http://127.0.0.1:4318；缺省不发送。"`
	Headers map[string]Secret `json:"headers" doc:"Headers sent to it." zh:"附带的请求头。"`
	Sample  int               `json:"sample" def:"100" min:"1" max:"100" doc:"Share of traces that are sent, in percent. The decision of a client takes precedence." zh:"采样百分比；客户端已决定的以客户端为准。"`
	Service string            `json:"service" def:"mcp-all-in-one" doc:"Name of this service in traces." zh:"链路中的服务名。"`
}

// Names returns the names of the schemas in the order of the file.
func (c *Config) Names() []string {
	names := make([]string, len(c.Schemas))
	for i, s := range c.Schemas {
		names[i] = s.Name
	}
	return names
}

// Schema returns the schema of that name, or nil.
func (c *Config) Schema(name string) *Schema {
	for _, s := range c.Schemas {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// CheckListen returns the problem that forbids listening on host, or nil. Any
// host but loopback needs access, and TLS so that keys and tokens cannot be
// read on the way.
func (c *Config) CheckListen(host string) *problem.Problem {
	code := c.forbidsListening(host)
	if code == "" {
		return nil
	}
	p := problem.New(problem.SeverityError, code, listening(host))
	p.File, p.Path = c.Path, "server.host"
	return &p
}

func (c *Config) forbidsListening(host string) (code string) {
	switch {
	case IsLoopback(host):
		return ""
	case !c.Access.Enabled:
		return problem.Exposed
	case !c.Server.TLS.Enabled() && !c.Server.Insecure:
		return problem.Plain
	}
	return ""
}

// listening names a host to listen on in a message.
func listening(host string) any {
	if host == "" {
		return i18n.New("every address of this machine", "本机的所有地址")
	}
	return host
}

// BareHost returns an IP address without the brackets of URLs, and any other host
// unchanged.
func BareHost(host string) string {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		if inner, ok = strings.CutSuffix(inner, "]"); ok && net.ParseIP(inner) != nil {
			return inner
		}
	}
	return host
}

// IsLoopback reports whether host refers only to this machine.
func IsLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
