package config

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/config/variable"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/spelling"
)

// checkTop checks the top-level sections against the rules that concern several
// fields.
func (r *reader) checkTop() {
	r.checkStdio()
	r.checkCORS()
	r.checkRoots()
	r.checkRegistries()
	for path, text := range map[string]string{"sampling.url": r.cfg.Sampling.URL, "access.oauth.issuer": r.cfg.Access.OAuth.Issuer, "access.oauth.jwks": r.cfg.Access.OAuth.JWKS, "tracing.url": r.cfg.Tracing.URL,
		"inbox.console": r.cfg.Inbox.Console, "inbox.webhook.url": r.cfg.Inbox.Webhook.URL.Reveal()} {
		u, err := url.Parse(text)
		if text != "" && (err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https")) {
			r.reportTop(problem.SeverityError, path, problem.URL, text, i18n.New("is not an http address", "不是 http 地址"))
		}
	}
	if path := r.cfg.Access.Keys; path != "" && r.cfg.Access.Enabled && r.cfg.Access.Share.URL == "" {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			r.reportTop(problem.SeverityWarning, "access.keys", problem.NoKeys, path)
		}
	}
	r.cfg.Server.Host = BareHost(r.cfg.Server.Host)
	if code := r.cfg.forbidsListening(r.cfg.Server.Host); code != "" {
		r.reportTop(problem.SeverityWarning, "server.host", code, listening(r.cfg.Server.Host))
	}
	r.checkTLS()
	r.checkCluster()
	r.cfg.Access.Share.check(r)
}

// reportTop reports the value of a top-level key, or an item of its list. It quotes
// the value as it is written in the file, never the value of a variable. A value
// whose variables were not resolved is not reported.
func (r *reader) reportTop(sev problem.Severity, path, code string, value any, more ...any) *problem.Problem {
	n, written := find(r, path)
	if written && n.Kind == document.KindArray {
		n = itemOf(n, value)
	}
	if written && n.Kind == document.KindString && len(variable.Names(n)) > 0 {
		if r.vars.AsWritten {
			return &problem.Problem{}
		}
		value = shown(n)
	}
	if text, ok := value.(string); ok {
		value = safeURL(text)
	}
	return r.c.Add(sev, n.Pos, path, code, append([]any{value}, more...)...)
}

// itemOf returns the item of a list that a value comes from: the one that has the
// value in it, else the first with variables, else the list.
func itemOf(list *document.Node, value any) *document.Node {
	from := list
	text, _ := value.(string)
	for _, item := range list.Items {
		if text != "" && strings.Contains(item.Text, text) {
			return item
		}
		if from == list && len(variable.Names(item)) > 0 {
			from = item
		}
	}
	return from
}

// at finds a top-level key by its path, or its nearest ancestor that exists.
func (r *reader) at(path string) *document.Node {
	n, _ := find(r, path)
	return n
}

// find is at, and reports whether the key itself exists.
func find(r *reader, path string) (*document.Node, bool) {
	n := r.Layout.Top
	for key := range strings.SplitSeq(path, ".") {
		next := n.Get(key)
		if next == nil {
			return n, false
		}
		n = next
	}
	return n, true
}

// checkStdio replaces invalid settings of the stdio front by their defaults.
func (r *reader) checkStdio() {
	s := &r.cfg.CLI.Stdio
	s.Encoding = "utf8"
	d := s.Delimiter
	if d == "\r\n" {
		s.Delimiter = "\n" // a line may end in \r anyway
		return
	}
	if r.vars.AsWritten && len(variable.Names(r.at("cli.stdio.delimiter"))) > 0 {
		return
	}
	if len(d) != 1 || d[0] >= 0x20 || d == "\t" {
		r.c.Add(problem.SeverityWarning, r.at("cli.stdio.delimiter").Pos, "cli.stdio.delimiter", problem.Replaced, i18n.New("a delimiter is one control character", "分隔符应为一个控制字符"), "\n")
		s.Delimiter = "\n"
	}
}

// checkCORS drops the origin * where it would open the gateway to every page.
func (r *reader) checkCORS() {
	cors := &r.cfg.Server.CORS
	if !slices.Contains(cors.Origins, "*") {
		return
	}
	var reason i18n.Text
	switch {
	case cors.Credentials:
		reason = i18n.New("it never goes with credentials", "它不能与 credentials 同用")
	case !r.cfg.Access.Enabled && !cors.AllowAnyOrigin:
		reason = i18n.New("any web page could use the gateway", "任何网页都能使用网关")
	default:
		return
	}
	r.c.Add(problem.SeverityWarning, r.at("server.cors.origins").Pos, "server.cors.origins", problem.AnyOrigin, reason)
	cors.Origins = slices.DeleteFunc(cors.Origins, func(o string) bool { return o == "*" })
}

func (r *reader) checkRoots() {
	for i, root := range r.cfg.Roots {
		item := r.at("roots").Items[i]
		uri, vars := root.URI, variable.Names(item)
		if strings.HasPrefix(uri, "file://") || r.vars.AsWritten && len(vars) > 0 {
			continue
		}
		if n := item.Get("uri"); n != nil && len(vars) > 0 {
			uri = shown(n)
		}
		r.c.Add(problem.SeverityError, r.at("roots").Pos, "roots", problem.URL, uri, i18n.New("is not a file:// URI", "不是 file:// URI"))
	}
}

// checkRegistries requires that each registry has a unique name and an address
// that is safe for a token: https, or http on loopback.
func (r *reader) checkRegistries() {
	seen := map[string]bool{OfficialRegistry: true}
	for i, g := range r.cfg.Registries {
		item := r.at("registries").Items[i]
		if len(variable.Names(item)) > 0 && r.vars.AsWritten {
			continue
		}
		path := "registries[" + strconv.Itoa(i) + "]"
		if u, err := url.Parse(g.URL); err != nil || u.Host == "" || u.Scheme != "https" && !(u.Scheme == "http" && IsLoopback(u.Hostname())) {
			r.c.Add(problem.SeverityError, item.Pos, path+".url", problem.URL, asShown(item.Get("url")), i18n.New("is not an https address", "不是 https 地址"))
		}
		if !spelling.Fault(g.Name).Empty() || seen[g.Name] {
			r.c.Add(problem.SeverityError, item.Pos, path+".name", problem.NotOneOf, asShown(item.Get("name")), i18n.New("a valid name that no other registry has", "未被其他注册表使用的有效名称"))
		}
		seen[g.Name] = true
		g.Auth.check(item.Get("auth"), func(code string, args ...any) { r.c.Add(problem.SeverityError, item.Pos, path+".auth", code, args...) })
		if g.Auth.PerUser {
			r.c.Add(problem.SeverityError, item.Pos, path+".auth.perUser", problem.NotOneOf, "true", i18n.New("false: a registry is signed in to once", "false：注册表只登录一次"))
		}
	}
}

// asShown returns the text of n as it is written in the file, or "" if n is
// nil.
func asShown(n *document.Node) string {
	if n == nil {
		return ""
	}
	return safeURL(shown(n))
}
