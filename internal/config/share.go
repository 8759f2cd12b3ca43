package config

import (
	"net/url"
	"slices"

	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/i18n"
)

// Sharing makes the gateway the authorization server of one schema.
type Sharing struct {
	URL    string `json:"url" doc:"Address at which clients reach this gateway, without a path, such as https://mcp.example.com. Its host counts as server.hosts. Nothing is shared without it." zh:"客户端访问本网关的地址，不含路径，如 https://mcp.example.com；其主机名等同于列入 server.hosts。不设置则不共享。"`
	Schema string `json:"schema" def:"default" doc:"The schema that is shared; no other can be reached with the tokens." zh:"共享的 schema；令牌不能访问其他 schema。"`
	Write  bool   `json:"write" doc:"Allow all tools. Off: only tools that their server declares read-only." zh:"允许所有工具；关闭时仅允许服务器声明为只读的工具。"`
	Days   int    `json:"days" def:"30" min:"1" max:"366" doc:"Days after which a client has to be confirmed again." zh:"多少天后需要重新确认。"`
}

// Resource returns the URL of the shared schema.
func (s *Sharing) Resource() string {
	if s.Schema == "default" {
		return s.URL + "/mcp"
	}
	return s.URL + "/api/" + s.Schema + "/mcp"
}

// Host returns the host of the address, with its port if it has one; empty if
// nothing is shared.
func (s *Sharing) Host() string {
	if u, err := url.Parse(s.URL); err == nil {
		return u.Host
	}
	return ""
}

// check refuses settings with which no client could sign in.
func (s *Sharing) check(r *reader) {
	if s.URL == "" {
		return
	}
	u, err := url.Parse(s.URL)
	var fault i18n.Text
	switch {
	case err != nil || u.Host == "" || u.User != nil || s.URL != u.Scheme+"://"+u.Host || u.Scheme != "https" && !(u.Scheme == "http" && IsLoopback(u.Hostname())):
		fault = i18n.New("is not https://HOST without a path", "不是不含路径的 https://HOST")
	case r.cfg.Access.Keys == "":
		fault = i18n.New("needs access.keys: its tokens are keys in that file", "需要 access.keys：其令牌是该文件中的密钥")
	case r.cfg.Access.OAuth.Issuer != "":
		fault = i18n.New("is set beside access.oauth: one of them gives the tokens", "与 access.oauth 同时设置：令牌只能有一个来源")
	case r.cfg.Cluster.Enabled() && !r.cfg.Cluster.Agrees():
		fault = i18n.New("needs cluster.engine: nats in a cluster, which shares the keys; or use access.oauth", "在集群中需要 cluster.engine: nats 来共享密钥；或使用 access.oauth")
	case !slices.Contains(r.cfg.Names(), s.Schema):
		r.reportTop(problem.SeverityError, "access.share.schema", problem.NotOneOf, s.Schema, i18n.New("a schema of this file", "此文件中的 schema"))
		return
	default:
		return
	}
	r.reportTop(problem.SeverityError, "access.share.url", problem.URL, s.URL, fault)
}
