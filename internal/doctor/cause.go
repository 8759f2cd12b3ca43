package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/lazy"
	"mcp-all-in-one/internal/mcphttp/httpclient"
	"mcp-all-in-one/internal/stdio"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/upstream/failure"
)

// fixFor returns what to do about a server that is not up, derived from its
// error; empty if that is not known.
func fixFor(a *env.Env, cfg *config.Server, st *upstream.Status, why error) string {
	if len(cfg.Missing) > 0 {
		return fixMissing(a, cfg.Missing)
	}
	if cfg.URL == "" {
		return fixCommand(a, cfg, st, why)
	}
	var status *httpclient.StatusError
	var answer *httpclient.AnswerError
	switch {
	case why == nil: // no answer yet
		why = failure.ErrSlow
	case errors.As(why, &status):
		return fixStatus(a, cfg, status)
	case errors.As(why, &answer):
		return otherType(a, cfg)
	}
	return FixNetwork(a, why)
}

// FixKey returns what to do about a server that refuses the key of its entry in a
// file; empty if it has none.
func FixKey(a *env.Env, s *config.Server, file string) string {
	if s == nil || s.Credential() == "" {
		return ""
	}
	return fmt.Sprintf(a.T("its key is refused: correct %[1]s of %[2]s in %[3]s", "密钥被拒绝：请更正配置文件 %[3]s 中 %[2]s 的 %[1]s"), s.Credential(), s.Name, file)
}

// fixStatus returns what to do about a server that answers with a status other
// than 200.
func fixStatus(a *env.Env, cfg *config.Server, status *httpclient.StatusError) string {
	switch code := status.Status; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		if len(cfg.Vars) > 0 {
			return fmt.Sprintf(a.T("it refuses the key: correct %s", "它拒绝了密钥：请更正 %s"), strings.Join(cfg.Vars, a.T(", ", "、")))
		}
		return a.T("put its key into headers, such as Authorization, or ask its owner how to sign in", "请在 headers 中填写密钥（如 Authorization），或询问服务提供方如何登录")
	case code >= 300 && code < 400:
		if to := status.Header.Get("Location"); to != "" {
			if at, err := url.Parse(cfg.URL); err == nil {
				if next, err := at.Parse(to); err == nil {
					to = next.Redacted()
				}
			}
			return a.T("it has moved; write the new address as its url: ", "该服务器已迁移；请将 url 改为新地址：") + to
		}
		return a.T("it has moved; ask its owner for the new address", "该服务器已迁移；请询问服务提供方新地址")
	case code == http.StatusMethodNotAllowed || code == http.StatusNotFound && cfg.Type == config.TypeSSE:
		return otherType(a, cfg)
	case code == http.StatusNotFound:
		if likely := httpclient.LikelyURL(cfg.URL); likely != "" {
			return a.T("nothing is at that path; most servers are at /mcp; try ", "该路径下没有服务器；多数服务器位于 /mcp；请尝试 ") + likely
		}
		return a.T("nothing is at that path: correct the path in its url", "该路径下没有服务器：请更正 url 中的路径")
	}
	return a.T("look at the server's own log", "请查看该服务器自己的日志")
}

// otherType returns the advice for a server that uses the other of the two HTTP
// transports.
func otherType(a *env.Env, cfg *config.Server) string {
	if cfg.Type != config.TypeSSE && cfg.Type != config.TypeHTTP {
		return a.T("it does not speak MCP at this address: correct the path in its url", "该地址不提供 MCP：请更正 url 中的路径")
	}
	other := config.TypeSSE
	if cfg.Type == config.TypeSSE {
		other = config.TypeHTTP
	}
	return fmt.Sprintf(a.T("it does not speak %s at this address: try \"type\": %q, or correct the path in its url", "该地址不使用 %s：请尝试 \"type\": %q，或更正 url 中的路径"), cfg.Type, other)
}

// FixNetwork returns what to do if there was no answer at all.
func FixNetwork(a *env.Env, why error) string {
	var (
		unknown x509.UnknownAuthorityError
		invalid x509.CertificateInvalidError
		name    x509.HostnameError
		plain   tls.RecordHeaderError
		dns     *net.DNSError
		network net.Error
	)
	switch {
	case errors.As(why, &unknown):
		return a.T("this machine does not know who issued its certificate: let it trust the issuer (SSL_CERT_FILE=FILE adds one)", "本机不认识其证书的签发者：请让本机信任该签发者（可用 SSL_CERT_FILE=FILE 添加）")
	case errors.As(why, &invalid) && invalid.Reason == x509.Expired:
		return a.T("its certificate has expired: let its owner renew it, and check the clock of this machine", "其证书已过期：请让服务提供方更新，并检查本机时钟")
	case errors.As(why, &name):
		return fmt.Sprintf(a.T("its certificate is for another name: write the name that it is for in its url, not %s", "其证书属于其他名称：请在 url 中使用证书上的名称，而不是 %s"), name.Host)
	case errors.As(why, &plain), strings.Contains(why.Error(), "server gave HTTP response to HTTPS client"):
		return a.T("it does not speak TLS: write http:// in its url", "它不使用 TLS：请在 url 中写 http://")
	case errors.As(why, &dns):
		return fmt.Sprintf(a.T("no host is called %s: correct the host name in its url", "没有名为 %s 的主机：请更正 url 中的主机名"), dns.Name)
	case errors.Is(why, syscall.ECONNREFUSED):
		return a.T("nothing listens there: start the server, or correct the port in its url", "没有程序监听该地址：请启动该服务器，或更正 url 中的端口")
	case errors.Is(why, failure.ErrSlow), errors.Is(why, context.DeadlineExceeded), errors.As(why, &network) && network.Timeout():
		return a.T("it does not answer: start it, or allow more time with limits.handshake", "它没有应答：请启动它，或用 limits.handshake 延长时限")
	}
	return a.T("look at the server's own log", "请查看该服务器自己的日志")
}

// fixCommand returns what to do about a command that did not become a server.
func fixCommand(a *env.Env, cfg *config.Server, st *upstream.Status, why error) string {
	if start, ok := errors.AsType[*stdio.StartError](why); ok { // it never ran, so it cannot have missed a variable
		_, err := exec.LookPath(cfg.Command)
		switch {
		case errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist):
			return whereIs(a, cfg.Command)
		case errors.Is(why, fs.ErrPermission):
			return i18n.Command("chmod", "+x", cfg.Command)
		}
		return start.Hint.In(a.Lang)
	}
	if names := missingNames(cfg, st); len(names) > 0 {
		return fmt.Sprintf(a.T("it asks for %s: set it in its env, or name it in its inheritEnv", "它需要 %s：请在 env 中设置，或写入 inheritEnv"), strings.Join(names, a.T(", ", "、")))
	}
	if st.Noise != "" {
		return FixNoise(a, st.Noise)
	}
	if st.Installer != "" {
		return fmt.Sprintf(a.T("wait until %s has installed it; this lasts as long as the download", "请等待 %s 安装完成；所需时间取决于下载"), st.Installer)
	}
	if errors.Is(why, failure.ErrSlow) || why == nil {
		return a.T("it runs and does not answer: start its MCP mode, or allow more time with limits.handshake", "它在运行但没有应答：请启动其 MCP 模式，或用 limits.handshake 延长时限")
	}
	return a.T("run it by hand to see what it wants: ", "请手动运行以查看它需要什么：") + env.TargetOf(cfg)
}

// FixNoise returns what to do about a command that prints a line that is no
// message.
func FixNoise(a *env.Env, line string) string {
	return fmt.Sprintf(a.T("it prints to standard output, which belongs to the protocol (%.80q): let it print to standard error, or start its MCP mode", "它向标准输出写入了协议之外的内容（%.80q）：请让它写到标准错误，或启动其 MCP 模式"), line)
}

// variable matches the name of an environment variable.
var variable = lazy.Regexp(`\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b`)

// fixMissing returns how to define what an entry refers to.
func fixMissing(a *env.Env, names []string) string {
	hints := make([]string, len(names))
	for i, name := range names {
		hints[i] = name + a.T(": ", "：") + a.T(config.UndefinedHint(name))
	}
	return strings.Join(hints, a.T("; ", "；"))
}

// missingNames returns the variables in the last stderr lines of a server that it
// did not get.
func missingNames(cfg *config.Server, st *upstream.Status) []string {
	var names []string
	for _, line := range st.Stderr[max(0, len(st.Stderr)-5):] {
		for _, name := range variable().FindAllString(line, -1) {
			_, set := cfg.Env[name]
			if !set && !slices.Contains(names, name) && (slices.Contains(st.Withheld, name) || missingWord().MatchString(line)) {
				names = append(names, name)
			}
		}
	}
	return names
}

// missingWord matches the usual messages about an unset variable.
var missingWord = lazy.Regexp(`(?i)missing|required|not set|not defined|undefined|must be set|unset|please set|KeyError|not found`)

// Searched returns the PATH in which a command was not found; empty for any
// other error.
func Searched(err error) string {
	var start *stdio.StartError
	if !errors.As(err, &start) {
		return ""
	}
	return start.Searched
}
