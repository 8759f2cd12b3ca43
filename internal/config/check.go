package config

import (
	"maps"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"mcp-all-in-one/internal/config/approval"
	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/config/steering"
	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/lazy"
	"mcp-all-in-one/internal/spelling"
)

var (
	schemaName  = lazy.Regexp(`^[a-zA-Z][a-zA-Z0-9_-]*$`)
	headerName  = lazy.Regexp("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
	versionDate = lazy.Regexp(`^\d{4}-\d{2}-\d{2}$`)
)

// reservedSchemas are schema names that collide with URL paths of the gateway.
var reservedSchemas = map[string]bool{"v1": true, "status": true, "s": true}

// fold maps names that look the same to one name: it ignores case and converts
// the full-width forms of ASCII.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 0xFF01 && r <= 0xFF5E {
			r -= 0xFF01 - '!'
		}
		return unicode.ToLower(unicode.ToUpper(r))
	}, name)
}

// serverChecker checks one decoded server against the rules that concern
// several fields.
type serverChecker struct {
	c    *problem.List
	s    *Server
	raw  *document.Node // the entry with variables resolved
	path string
	home string
	// engine reports whether the replicas of a cluster share state through an
	// engine.
	engine bool
	code   []approval.Script // the scripts of the entry, with the code from their files
}

func (k *serverChecker) report(sev problem.Severity, key, code string, args ...any) *problem.Problem {
	at, path := k.raw.Pos, k.path
	if n := k.raw.Get(key); n != nil {
		if n.Unresolved {
			return &problem.Problem{}
		}
		at, path = n.Pos, document.Join(k.path, key)
	}
	return k.c.Add(sev, at, path, code, args...)
}

func (k *serverChecker) run() {
	k.target()
	if k.s.URL != "" {
		k.url()
	}
	if k.s.Command != "" {
		k.command()
	}
	k.environment()
	k.headers()
	k.userValues()
	k.auth()
	k.sandbox()
	k.place()
	k.arguments()
	switch p := k.s.Protocol; {
	case p == "auto", p == "legacy", p == "modern", versionDate().MatchString(p):
	default:
		k.report(problem.SeverityError, "protocol", problem.NotOneOf, shown(k.raw.Get("protocol")), i18n.New("auto, legacy, modern or a date such as 2025-11-25", " auto、legacy、modern 或日期（例如 2025-11-25）"))
	}
}

// arguments finds arguments of tools that have both a value and a default.
func (k *serverChecker) arguments() {
	for _, tool := range slices.Sorted(maps.Keys(k.s.Tools)) {
		set := k.s.Tools[tool].Arguments
		for _, name := range slices.Sorted(maps.Keys(set)) {
			if set[name].Value == nil || set[name].Default == nil {
				continue
			}
			n, path := k.raw, k.path
			for _, key := range []string{"tools", tool, "arguments", name, "default"} {
				n, path = n.Get(key), document.Join(path, key)
			}
			if n != nil {
				k.c.Add(problem.SeverityWarning, n.Pos, path, problem.TwoNames, "default", "value")
			}
		}
	}
}

// target sets the type and requires exactly one of command, url and scripts.
func (k *serverChecker) target() {
	s := k.s
	switch {
	case len(s.Scripts) > 0:
		k.scripts()
	case s.Command != "" && s.URL != "":
		k.report(problem.SeverityError, "url", problem.TwoTargets, s.Name, "command", "url")
	case s.Command == "" && s.URL == "":
		k.report(problem.SeverityError, "", problem.NoTarget, s.Name)
	case s.Type == TypeScripts:
		k.report(problem.SeverityError, "type", problem.TypeTarget, s.Type, i18n.New("scripts", "键 scripts"))
	case s.Command != "" && s.Type == "":
		s.Type = TypeStdio
	case s.URL != "" && s.Type == "":
		s.Type = TypeAuto
	case s.Command != "" && s.Type != TypeStdio:
		k.report(problem.SeverityError, "type", problem.TypeTarget, shown(k.raw.Get("type")), i18n.New("a url", "键 url"))
	case s.URL != "" && s.Type == TypeStdio:
		k.report(problem.SeverityError, "type", problem.TypeTarget, shown(k.raw.Get("type")), i18n.New("a command", "键 command"))
	}
}

func (k *serverChecker) url() {
	n := k.raw.Get("url")
	if n.Unresolved {
		return
	}
	u, err := url.Parse(k.s.URL)
	var fault i18n.Text
	switch {
	case err != nil:
		fault = i18n.New("cannot be read", "无法解析")
	case u.Scheme != "http" && u.Scheme != "https":
		fault = i18n.New("is neither http nor https", "既不是 http 也不是 https")
	case u.Hostname() == "":
		fault = i18n.New("names no host", "没有主机名")
	}
	if !fault.Empty() {
		k.report(problem.SeverityError, "url", problem.URL, safeURL(shown(n)), fault)
		return
	}
	if _, ok := u.User.Password(); ok {
		k.report(problem.SeverityWarning, "url", problem.URLPassword, k.s.Name)
	}
}

var urlPassword = lazy.Regexp(`//[^/@\s]*@`)

// HasPassword reports whether a URL seems to have a password before the host.
// The URL need not be valid.
func HasPassword(s string) bool { return urlPassword().MatchString(s) }

// safeURL hides the user and password of a URL.
func safeURL(s string) string { return urlPassword().ReplaceAllString(s, "//"+hidden+"@") }

// command refuses a command line that only a shell can run. A program whose
// path contains spaces is allowed.
func (k *serverChecker) command() {
	s := k.s
	s.Command, s.Cwd = disk.ExpandHome(s.Command, k.home), disk.ExpandHome(s.Cwd, k.home)
	if !strings.ContainsAny(s.Command, " \t\r\n") {
		return
	}
	path := s.Command
	if s.Cwd != "" && !filepath.IsAbs(path) && strings.ContainsRune(path, filepath.Separator) {
		path = filepath.Join(s.Cwd, path)
	}
	if _, err := os.Stat(path); err == nil {
		return
	}
	if _, err := exec.LookPath(path); err == nil {
		return
	}
	p := k.report(problem.SeverityError, "command", problem.ShellLine, shown(k.raw.Get("command")))
	words := strings.Fields(shown(k.raw.Get("command")))
	if len(words) > 1 {
		p.Hint = `write "command": ` + string(document.Quote(words[0])) + ` and put the rest into "args"`
		p.HintZH = `请写成 "command": ` + string(document.Quote(words[0])) + `，其余放入 "args"`
	}
}

func (k *serverChecker) environment() {
	env := k.raw.Get("env")
	if env == nil {
		return
	}
	for _, m := range env.Members {
		if m.Key == "" || strings.ContainsAny(m.Key, "=\x00") {
			k.c.Add(problem.SeverityError, m.Pos, document.Join(k.path, "env"), problem.EnvName, m.Key)
		}
	}
}

func (k *serverChecker) headers() {
	headers := k.raw.Get("headers")
	if headers == nil {
		return
	}
	for _, m := range headers.Members {
		if !headerName().MatchString(m.Key) {
			k.c.Add(problem.SeverityError, m.Pos, document.Join(k.path, "headers"), problem.Header, m.Key)
		}
		if strings.ContainsAny(k.s.Headers[m.Key].Reveal(), "\r\n\x00") {
			k.c.Add(problem.SeverityError, m.Value.Pos, document.Join(k.path, "headers."+m.Key), problem.Character, i18n.New("the header", "请求头"), i18n.New("a line break or NUL", "换行符或 NUL"))
		}
	}
}

// userValues refuses per-user values that have no destination, or whose
// variable or header is already set.
func (k *serverChecker) userValues() {
	s, taken := k.s, map[string]bool{}
	for name := range s.Env {
		taken[name] = true
	}
	for name := range s.Headers {
		taken[strings.ToLower(name)] = true
	}
	for _, name := range slices.Sorted(maps.Keys(s.PerUser)) {
		v := s.PerUser[name]
		place := v.Env + strings.ToLower(v.Header) // one of them is empty
		fault := spelling.Fault(name)
		switch {
		case !fault.Empty():
		case v.Env != "" && v.Header != "" || place == "":
			fault = i18n.New("needs one of env and header", "需要 env 与 header 之一")
		case v.Env != "" && s.Command == "":
			fault = i18n.New("is in a variable, and the server has no command", "放在环境变量中，但该服务器没有 command")
		case v.Header != "" && s.URL == "":
			fault = i18n.New("is in a header, and the server has no url", "放在请求头中，但该服务器没有 url")
		case strings.ContainsAny(v.Env, "=\x00") || v.Header != "" && !headerName().MatchString(v.Header) || strings.ContainsAny(v.Prefix, "\r\n\x00"):
			fault = i18n.New("has a name or a prefix that cannot be sent", "的名称或前缀无法发送")
		case v.Env != "" && !steering.Why(v.Env).Empty():
			fault = i18n.New("is in the variable %s, which %v: a user may not set it", "放在环境变量 %s 中，它%v：不能由用户设置", v.Env, steering.Why(v.Env))
		case ofTransport(v.Header):
			fault = i18n.New("is in the header %s, which the gateway sets itself", "放在请求头 %s 中，该请求头由网关自行设置", v.Header)
		case taken[place]:
			fault = i18n.New("goes where another value is already", "与另一个值位置相同")
		}
		if taken[place] = true; !fault.Empty() {
			k.report(problem.SeverityError, "perUser", problem.UserValue, name, fault)
		}
	}
}

func (k *serverChecker) auth() {
	k.s.Auth.check(k.raw.Get("auth"), func(code string, args ...any) { k.report(problem.SeverityError, "auth", code, args...) })
}

// check reports networks and issuers that are not valid. n is the object in the
// file.
func (a *Auth) check(n *document.Node, report func(code string, args ...any)) {
	for i, text := range a.Allow {
		item := n.Get("allow").Items[i]
		if _, err := netip.ParsePrefix(text); err != nil && !item.Unresolved {
			report(problem.NotOneOf, shown(item), i18n.New("a network such as 10.0.0.0/8", "网段（例如 10.0.0.0/8）"))
		}
	}
	issuer := n.Get("issuer")
	if a.Issuer != "" && !issuer.Unresolved {
		if u, err := url.Parse(a.Issuer); err != nil || u.Host == "" || u.Scheme != "https" && !IsLoopback(u.Hostname()) {
			report(problem.URL, safeURL(shown(issuer)), i18n.New("is not the https address of an issuer", "不是签发者的 https 地址"))
		}
	}
}

// ofTransport reports whether a header belongs to the transport, so that an
// entry may not set it.
func ofTransport(name string) bool {
	switch name = strings.ToLower(name); name {
	case "host", "connection", "content-length", "content-type", "content-encoding", "transfer-encoding", "te", "trailer", "upgrade", "keep-alive", "accept", "accept-encoding", "last-event-id":
		return true
	}
	return strings.HasPrefix(name, "mcp-") || strings.HasPrefix(name, "proxy-")
}
