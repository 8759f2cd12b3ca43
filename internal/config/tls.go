package config

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/i18n"
)

// TLS selects the certificate for HTTPS: one from two files, or one from an
// ACME authority.
type TLS struct {
	Cert string `json:"cert" doc:"File of the certificate and its chain, PEM. A new file is used from the next connection on." zh:"证书及其链的 PEM 文件；更换文件后，从下一个连接起生效。"`
	Key  string `json:"key" doc:"File of its private key, PEM." zh:"私钥的 PEM 文件。"`
	ACME ACME   `json:"acme" doc:"Get the certificate from an ACME authority such as Let's Encrypt, and renew it." zh:"从 Let's Encrypt 等 ACME 机构获取证书并自动续期。"`
}

// ACME says for which domains a certificate is requested, and from which
// authority.
type ACME struct {
	Domains   []string `json:"domains" doc:"Public names that lead to this gateway, on port 443. They count as server.hosts. Setting them accepts the authority's terms of service." zh:"指向本网关 443 端口的公开域名；等同于列入 server.hosts。设置即表示接受该机构的服务条款。"`
	Email     string   `json:"email" doc:"Email address for messages of the authority." zh:"机构的联系邮箱。"`
	Directory string   `json:"directory" def:"https://acme-v02.api.letsencrypt.org/directory" doc:"Address of the authority's directory." zh:"机构的目录地址。"`
	Cache     string   `json:"cache" doc:"Folder of the account and the certificates. Absent: acme in the state folder." zh:"保存账户与证书的文件夹；缺省为状态文件夹中的 acme。"`
}

// Enabled reports whether the gateway serves HTTPS.
func (t *TLS) Enabled() bool { return t.Cert != "" || len(t.ACME.Domains) > 0 }

// Names returns the host names that the gateway answers to, besides the host of
// its address.
func (s *ServerSection) Names() []string { return append(slices.Clone(s.Hosts), s.TLS.ACME.Domains...) }

// checkTLS refuses a certificate without a key or a key without a certificate,
// and names for which no authority can issue a certificate.
func (r *reader) checkTLS() {
	t := &r.cfg.Server.TLS
	switch {
	case t.Cert != "" && t.Key == "":
		r.reportTop(problem.SeverityError, "server.tls.cert", problem.TLS, t.Cert, i18n.New("has no server.tls.key beside it", "缺少对应的 server.tls.key"))
	case t.Cert == "" && t.Key != "":
		r.reportTop(problem.SeverityError, "server.tls.key", problem.TLS, t.Key, i18n.New("has no server.tls.cert beside it", "缺少对应的 server.tls.cert"))
	case t.Cert != "" && len(t.ACME.Domains) > 0:
		r.reportTop(problem.SeverityError, "server.tls.cert", problem.TLS, t.Cert, i18n.New("is set beside server.tls.acme: one of them gives the certificate", "与 server.tls.acme 同时设置：证书只能有一个来源"))
	}
	for _, name := range t.ACME.Domains {
		if !isPublicName(name) {
			r.reportTop(problem.SeverityError, "server.tls.acme.domains", problem.TLS, name, i18n.New("is not a public host name", "不是公开的主机名"))
		}
	}
	if u, err := url.Parse(t.ACME.Directory); err != nil || u.Host == "" || u.Scheme != "https" {
		r.reportTop(problem.SeverityError, "server.tls.acme.directory", problem.URL, t.ACME.Directory, i18n.New("is not an https address", "不是 https 地址"))
	}
}

// isPublicName reports whether an authority can issue a certificate for the
// name: it is no address and has no wildcard and no port.
func isPublicName(name string) bool {
	_, err := netip.ParseAddr(name)
	return err != nil && strings.Contains(name, ".") && !strings.HasPrefix(name, ".") && !strings.ContainsAny(name, "*:/ @")
}
