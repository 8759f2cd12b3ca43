package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"mcp-all-in-one/internal/config/approval"
	"mcp-all-in-one/internal/config/digest"
)

// Schema is a set of servers that clients see as one server.
type Schema struct {
	Name    string      `json:"-"`
	Enabled bool        `json:"enabled" def:"true" doc:"Offer this schema." zh:"是否启用。"`
	Mode    string      `json:"mode" enum:"full|compact|search|code|auto" doc:"What clients see: full shows every tool, compact only inspect and exec, search the same with a query for inspect, code also run for scripts; auto chooses." zh:"客户端看到的内容：full 为全部工具，compact 仅有 inspect 与 exec，search 的 inspect 可按词查找，code 另有运行脚本的 run，auto 自动选择。"`
	Naming  string      `json:"naming" enum:"prefix|none" doc:"List tools as server__tool, or under their own names." zh:"工具以 server__tool 或原名列出。"`
	Fit     string      `json:"fit" enum:"off|auto|claude|cursor|gemini|openai|vscode|windsurf" doc:"Adapt the listed tools to the limits of a kind of client: names, schema keywords. auto uses the name that a legacy client gives." zh:"按客户端的限制显示工具：名称长度、schema 关键字。auto 依据旧版客户端自报的名称。"`
	Code    *bool       `json:"code" doc:"Show run, which runs a script that calls tools, in the compact and search modes." zh:"在 compact 与 search 模式中显示 run，用于运行可调用工具的脚本。"`
	Results ResultLimit `json:"results" doc:"Large results of this schema." zh:"此 schema 的大型结果。"`
	Servers []*Server   `json:"-"`
}

// Names returns the names of the servers in the order of the file.
func (s *Schema) Names() []string {
	names := make([]string, len(s.Servers))
	for i, v := range s.Servers {
		names[i] = v.Name
	}
	return names
}

// CutsResults reports whether the schema, one of its servers or one of their
// tools has a result limit.
func (s *Schema) CutsResults() bool {
	if s.Results.cuts() {
		return true
	}
	for _, v := range s.Servers {
		if v.Results.cuts() {
			return true
		}
		for _, t := range v.Tools {
			if t.Results.cuts() {
				return true
			}
		}
	}
	return false
}

// Server returns the server of that name, or nil.
func (s *Schema) Server(name string) *Server {
	for _, v := range s.Servers {
		if v.Name == name {
			return v
		}
	}
	return nil
}

// The types of a server. TypeAuto is a URL whose transport the file does not
// name.
const (
	TypeStdio = "stdio"
	TypeHTTP  = "http"
	TypeSSE   = "sse"
	TypeAuto  = "auto"
	// TypeScripts is a server that consists of scripts in the file, which the
	// gateway runs itself.
	TypeScripts = "scripts"
)

// Server is one entry of the file: how to reach one MCP server.
type Server struct {
	Name   string `json:"-"`
	Schema string `json:"-"`

	project string // path of the file, if that is part of a working tree

	Type         string                `json:"type" enum:"stdio|http|sse|auto|scripts" doc:"Transport. Absent: stdio with a command, detected with a url, scripts with scripts." zh:"传输方式；缺省时有 command 为 stdio，有 url 则自动探测，有 scripts 为 scripts。"`
	Command      string                `json:"command" doc:"Program to start. Never a shell line." zh:"要启动的程序，不经过 shell。"`
	Args         []string              `json:"args" doc:"Its arguments." zh:"参数。"`
	Env          map[string]Secret     `json:"env" doc:"Environment variables set for it." zh:"环境变量。"`
	Cwd          string                `json:"cwd" doc:"Directory it starts in." zh:"工作目录。"`
	URL          string                `json:"url" doc:"Address of a server over HTTP." zh:"HTTP 服务器地址。"`
	Scripts      map[string]Script     `json:"scripts" doc:"Scripts that are the tools of this entry, by name, instead of a command or a url. They run after a person has approved them, with the rights of their caller. See docs/compact.md." zh:"作为此条目工具的脚本，按名称给出，代替 command 或 url。经人批准后运行，权限与其调用者相同。见 docs/compact.md。"`
	Headers      map[string]Secret     `json:"headers" doc:"Headers sent with every request." zh:"每个请求附带的请求头。"`
	PerUser      map[string]UserValue  `json:"perUser" doc:"Values that every user of the gateway provides, by name, such as an API key. Each user gets a separate connection with them. Set with secret set NAME --user USER." zh:"网关的每个用户各自提供的值（如 API 密钥），按名称给出；每个用户有自己的连接。用 secret set NAME --user USER 设置。"`
	Auth         Auth                  `json:"auth" doc:"How to sign in to a server over HTTP that requires it; see auth login." zh:"需要登录的 HTTP 服务器的登录方式；见 auth login。"`
	Enabled      bool                  `json:"enabled" def:"true" doc:"Use this server." zh:"是否启用。"`
	Timeout      time.Duration         `json:"timeout" min:"1ms" max:"24h" doc:"How long a call may be silent; limits.callIdle when absent." zh:"调用最长静默时间；缺省为 limits.callIdle。"`
	Restart      bool                  `json:"restart" def:"true" doc:"Start or connect to it again when it ends." zh:"退出后是否重启或重连。"`
	RestartDelay time.Duration         `json:"restartDelay" def:"5s" min:"0s" max:"24h" doc:"Longest pause before another attempt." zh:"重试前的最长间隔。"`
	Retries      int                   `json:"retries" def:"3" min:"0" max:"1000" doc:"Failed attempts before its state is crash_looping; it is tried again later." zh:"连续失败多少次后状态变为 crash_looping；之后仍会重试。"`
	InheritEnv   Inherit               `json:"inheritEnv" doc:"Names of variables that it inherits besides PATH, HOME and others that every server gets, or \"all\"." zh:"额外继承的环境变量名，或 \"all\"。"`
	Share        string                `json:"share" def:"auto" enum:"auto|all|project|session" doc:"Which clients share one connection to it: all, those that work on one project, or none, with session. auto detects whether it needs all or session." zh:"连接的共享方式：all 为所有客户端共用，project 为同一项目的客户端共用，session 为各会话独用；auto 按服务器的需要在 all 与 session 之间选择。"`
	Place        string                `json:"place" enum:"one|each" doc:"Where a command runs in a cluster with an engine: one runs it once, on one of the replicas; each runs it on every replica. Absent: one, or each if share is session. With share: project always each." zh:"命令在带引擎的集群中如何运行：one 为只在其中一个副本上运行一份，each 为每个副本各一份；默认为 one，share 为 session 时为 each；share 为 project 时总是 each。"`
	On           map[string]string     `json:"on" doc:"Labels that a replica must have to run it, with place: one." zh:"运行它的副本必须具有的标签；用于 place: one。"`
	Fence        bool                  `json:"fence" doc:"With place: one, never run it twice at once: a replica that cannot reach the engine stops it." zh:"用于 place: one：绝不同时运行两份；无法访问引擎的副本会停止它。"`
	Protocol     string                `json:"protocol" def:"auto" doc:"auto, legacy, modern, or the date of a protocol version." zh:"auto、legacy、modern 或协议日期。"`
	Validate     string                `json:"validate" def:"required" enum:"required|full|off" doc:"How the arguments of a call are checked before it is sent: required arguments are there, the full schema, or off." zh:"发送前如何检查参数：required 仅检查必填参数，full 按完整 schema，off 不检查。"`
	Pin          string                `json:"pin" def:"warn" enum:"off|warn|hold" doc:"What happens when a tool, a prompt or the instructions change, or give orders to the model: warn logs it, hold withholds them until a person approves. See docs/security.md." zh:"工具、提示词或使用说明发生变化，或向模型下达指令时的处理：warn 记录日志，hold 在有人批准之前不提供。见 docs/security.md。"`
	Sandbox      Sandbox               `json:"sandbox" doc:"What a command may do here: \"off\" is everything, \"on\" its own files and any public host, an object what it says. See docs/sandbox.md." zh:"命令在本机的权限：\"off\" 不限制，\"on\" 仅自身文件与任意公网主机，对象则按其内容。见 docs/sandbox.md。"`
	Tools        map[string]ToolPolicy `json:"tools" doc:"Policy by tool name." zh:"按工具名的策略。"`
	Prompts      map[string]Policy     `json:"prompts" doc:"Policy by prompt name." zh:"按提示词名称的策略。"`
	Resources    map[string]Policy     `json:"resources" doc:"Policy by resource URI." zh:"按资源 URI 的策略。"`
	Results      ResultLimit           `json:"results" doc:"Large results of this server." zh:"此服务器的大型结果。"`
	Allow        []string              `json:"allow" doc:"Only these tools; * matches any text." zh:"仅允许这些工具；* 匹配任意文本。"`
	Deny         []string              `json:"deny" doc:"All tools but these; * matches any text." zh:"禁止这些工具；* 匹配任意文本。"`

	CallsPerMinute int `json:"callsPerMinute" def:"0" min:"0" max:"1000000" doc:"Calls of this server that one key, or one user, may make in a minute. 0 is no limit." zh:"单个密钥或用户每分钟可调用此服务器的次数；0 为不限制。"`

	Origin Origin `json:"origin" doc:"Where add found it; has no effect on how it is started." zh:"add 的来源；不影响启动方式。"`

	Missing      []string `json:"-"` // undefined variables: the server is off
	Vars         []string `json:"-"` // placeholders in env and headers
	Pending      bool     `json:"-"` // waits for approval
	Line, Column int      `json:"-"`
	// Taken lists changes by clients that a person must know before they
	// approve the entry.
	Taken []approval.Taken `json:"-"`
	// Waiting is the entry with which a client wants to replace this one. This
	// entry stays in use until a person approves the new one.
	Waiting *Server `json:"-"`

	entry    string // the entry as a person approves it
	approval string // hash of entry
	shown    string // hash of entry and of its scripts
}

// ToolPolicy changes how one tool is offered.
type ToolPolicy struct {
	Enabled     *bool         `json:"enabled" doc:"Offer it." zh:"是否提供。"`
	Ask         bool          `json:"ask" doc:"Each call waits until a person allows it in the console's inbox." zh:"每次调用都要等人在控制台的待办中允许。"`
	Rename      string        `json:"rename" doc:"Name it is listed under." zh:"列出时的名称。"`
	Description string        `json:"description" doc:"Description it is listed with." zh:"列出时的描述。"`
	Timeout     time.Duration `json:"timeout" min:"1ms" max:"24h" doc:"How long a call of it may be silent." zh:"调用最长静默时间。"`
	Results     ResultLimit   `json:"results" doc:"Large results of this tool." zh:"此工具的大型结果。"`

	Cache time.Duration `json:"cache" min:"1s" max:"24h" doc:"How long a result is reused for the same call of the same client. For tools that declare to be read-only (readOnlyHint); errors are never reused." zh:"结果的复用时间：同一客户端以相同参数再次调用时直接返回。仅用于声明为只读（readOnlyHint）的工具；错误从不复用。"`

	Arguments      map[string]Argument `json:"arguments" doc:"Arguments that the gateway sets or hides, by name." zh:"由网关设置或隐藏的参数，按名称给出。"`
	CallsPerMinute int                 `json:"callsPerMinute" def:"0" min:"0" max:"1000000" doc:"Calls of it that one key, or one user, may make in a minute. 0 is no limit." zh:"单个密钥或用户每分钟可调用此工具的次数；0 为不限制。"`
}

// Argument says how the gateway treats one argument of a tool.
type Argument struct {
	Value   json.RawMessage `json:"value" doc:"Value of the argument in every call. Clients do not see the argument; a call that has it is refused." zh:"每次调用都使用此值；客户端看不到该参数，发送则被拒绝。"`
	Default json.RawMessage `json:"default" doc:"Value for calls that leave the argument out." zh:"调用未给出该参数时使用的值。"`
	Hidden  bool            `json:"hidden" doc:"Clients do not see the argument; a call that has it is refused." zh:"客户端看不到该参数，发送则被拒绝。"`
}

// Ours reports that clients may not send the argument.
func (a Argument) Ours() bool { return a.Hidden || a.Value != nil }

// Origin says where the entry of a server came from.
type Origin struct {
	Registry string `json:"registry,omitempty" doc:"Name of the registry." zh:"注册表的名称。"`
	Name     string `json:"name,omitempty" doc:"Name of the server there." zh:"在注册表中的名称。"`
	Version  string `json:"version,omitempty" doc:"Its version." zh:"版本。"`
	Bundle   string `json:"bundle,omitempty" doc:"File or address of the bundle." zh:"安装包的文件或地址。"`
	SHA256   string `json:"sha256,omitempty" doc:"SHA-256 of the bundle." zh:"安装包的 SHA-256。"`
	Signer   string `json:"signer,omitempty" doc:"Who signed the bundle: a name that this machine trusts, or the SHA-256 of the certificate." zh:"安装包的签名者：本机信任的名称，或证书的 SHA-256。"`
	Image    string `json:"image,omitempty" doc:"Name of the image with its tag; what runs is in args, by its digest." zh:"镜像的名称及标签；实际运行的内容按摘要写在 args 中。"`
}

// Auth says how the gateway signs in to a server with OAuth. Every field is
// optional: missing values are discovered.
type Auth struct {
	ClientID     string   `json:"clientId" doc:"Client registered with the authorization server, or the https URL of a client metadata document. Absent: one is registered." zh:"在授权服务器上注册的客户端，或客户端元数据文档的 https 地址；缺省自动注册。"`
	ClientSecret Secret   `json:"clientSecret" doc:"Its secret." zh:"客户端密钥。"`
	Scopes       []string `json:"scopes" doc:"Scopes to request. Absent: what the server asks for." zh:"请求的范围；缺省为服务器所要求的。"`
	Issuer       string   `json:"issuer" doc:"The only issuer to accept." zh:"唯一接受的签发者。"`
	Port         int      `json:"port" min:"0" max:"65535" doc:"Port on 127.0.0.1 that the browser comes back to; 0 takes a free one." zh:"浏览器返回时使用的 127.0.0.1 端口；0 为任意空闲端口。"`
	Allow        []string `json:"allow" doc:"Networks beyond the public ones where the authorization server may be, such as 10.0.0.0/8." zh:"授权服务器可以所在的非公网网段，如 10.0.0.0/8。"`
	PerUser      bool     `json:"perUser" doc:"Every user of the gateway signs in separately; tokens and connections are not shared." zh:"网关的每个用户各自登录；令牌与连接互不共享。"`
}

// UserValue says where the gateway puts a value that each user provides.
type UserValue struct {
	Env         string `json:"env" doc:"Environment variable that has the value, for a server with a command." zh:"存放该值的环境变量；用于带 command 的服务器。"`
	Header      string `json:"header" doc:"Header that has the value, for a server with a url." zh:"存放该值的请求头；用于带 url 的服务器。"`
	Prefix      string `json:"prefix" doc:"Text before the value, such as \"Bearer \"." zh:"值之前的文本，如 \"Bearer \"。"`
	Description string `json:"description" doc:"What the users are asked for." zh:"向用户说明需要提供什么。"`
}

func (a *Auth) hashEntry(h *digest.Hash) {
	if a.ClientID == "" && a.ClientSecret == "" && len(a.Scopes) == 0 && a.Issuer == "" && a.Port == 0 && len(a.Allow) == 0 && !a.PerUser {
		return
	}
	h.Add("auth", a.ClientID, a.ClientSecret.Reveal(), a.Issuer, fmt.Sprint(a.Port), fmt.Sprint(a.PerUser))
	h.Add("scopes", a.Scopes...)
	h.Add("allow", a.Allow...)
}

// Policy changes how one prompt or resource is offered.
type Policy struct {
	Enabled *bool `json:"enabled" doc:"Offer it." zh:"是否提供。"`
}

// Inherit says which environment variables of the gateway a child process gets
// besides the harmless ones.
type Inherit struct {
	All   bool
	Names []string
}

// ID names a server within its file: schema, slash, name.
func (s *Server) ID() string { return s.Schema + "/" + s.Name }

// FolderID names the folder of the files that belong to the server alone. The author
// of a project chooses the names of its servers, so these have folders of their own.
func (s *Server) FolderID() string {
	if s.project == "" {
		return s.ID()
	}
	sum := sha256.Sum256([]byte(s.project))
	return s.ID() + "@" + hex.EncodeToString(sum[:8])
}

// Runnable reports whether the server may be started or dialled.
func (s *Server) Runnable() bool { return s.Enabled && !s.Pending && len(s.Missing) == 0 }

// Credential returns where the entry has the credential that is sent to the
// server, which makes a sign-in impossible: url, or a header; empty for none.
func (s *Server) Credential() string {
	if u, err := url.Parse(s.URL); err == nil && u.User != nil {
		return "url"
	}
	for name := range s.Headers {
		if strings.EqualFold(name, "Authorization") {
			return "headers." + name
		}
	}
	return ""
}

// Waits returns the entry of this server that waits for approval, or nil.
func (s *Server) Waits() *Server {
	if s.Pending {
		return s
	}
	return s.Waiting
}

// Transport returns how the server is reached. A URL without a type is tried
// over HTTP first.
func (s *Server) Transport() string {
	if s.Type == TypeAuto {
		return TypeHTTP
	}
	return s.Type
}

// Hash covers the fields whose change needs a new process or connection.
func (s *Server) Hash() string {
	h := digest.New()
	s.hashEntry(h)
	h.Add("share", s.Share)
	h.Add("protocol", s.Protocol)
	if s.Once() {
		h.Add("place", s.Place)
	}
	return h.Sum()
}

// ByProject reports whether the clients of each project have their own
// connection.
func (s *Server) ByProject() bool { return s.Share == "project" }

// The places.
const (
	PlaceOne  = "one"
	PlaceEach = "each"
)

// Once reports whether the server runs once in a cluster.
func (s *Server) Once() bool { return s.Place == PlaceOne }

// Entry returns the entry as a person approves it: complete, as the file has
// it, with invisible characters written as their numbers. A secret in a
// variable appears as the name of the variable; any other text appears as it
// is.
func (s *Server) Entry() string { return s.entry }

// ApprovalHash returns the hash of Entry. Variables count as they are written,
// so a new value of a variable needs no new approval. The content of a
// ${file:...} file is recorded separately.
func (s *Server) ApprovalHash() string { return s.approval }

// ShownHash returns the hash of everything that a person is shown:
// ApprovalHash, and the scripts of the entry with their code.
func (s *Server) ShownHash() string { return s.shown }

// policyHash covers the fields that Hash does not cover.
func (s *Server) policyHash() string {
	rest := *s
	rest.Line, rest.Column, rest.entry, rest.approval, rest.shown, rest.Taken, rest.Waiting = 0, 0, "", "", "", nil, nil
	rest.Env, rest.Headers, rest.Scripts = nil, nil, nil // covered by Hash
	h := digest.New()
	for _, name := range slices.Sorted(maps.Keys(s.Tools)) {
		p := s.Tools[name]
		enabled := enabledText(p.Enabled)
		p.Enabled = nil // a pointer: its address must not be hashed
		h.Add("tool", name, enabled, fmt.Sprintf("%+v", p))
	}
	rest.Tools = nil
	for _, set := range []map[string]Policy{s.Prompts, s.Resources} {
		for _, name := range slices.Sorted(maps.Keys(set)) {
			h.Add("policy", name, enabledText(set[name].Enabled))
		}
	}
	rest.Prompts, rest.Resources = nil, nil
	h.Add("rest", fmt.Sprintf("%+v", rest))
	return h.Sum()
}

func enabledText(b *bool) string {
	if b == nil {
		return ""
	}
	return fmt.Sprint(*b)
}

func (s *Server) hashEntry(h *digest.Hash) {
	h.Add("type", s.Type)
	h.Add("command", s.Command)
	h.Add("args", s.Args...)
	h.Add("cwd", s.Cwd)
	h.Add("url", s.URL)
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		h.Add("env", name, s.Env[name].Reveal())
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		h.Add("header", strings.ToLower(name), s.Headers[name].Reveal())
	}
	for _, name := range slices.Sorted(maps.Keys(s.PerUser)) {
		v := s.PerUser[name]
		h.Add("perUser", name, v.Env, strings.ToLower(v.Header), v.Prefix)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Scripts)) {
		v := s.Scripts[name]
		h.Add("script", name, v.Description, string(v.Arguments), v.Code, fmt.Sprint(v.ReadOnly), v.Timeout.String())
	}
	h.Add("inherit", append([]string{fmt.Sprint(s.InheritEnv.All)}, s.InheritEnv.Names...)...)
	s.Auth.hashEntry(h)
	s.Sandbox.hashEntry(h)
}
