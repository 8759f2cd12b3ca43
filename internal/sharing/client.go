package sharing

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/lazy"
)

const (
	// maxDocument bounds what a client says of itself, and a request.
	maxDocument  = 16 << 10
	maxRedirects = 8
	maxAddress   = 512
	maxName      = 60
	// registered is the prefix of the ids of clients that registered themselves.
	registered = "dcr-"
)

// A client is the metadata of an OAuth client, as the client states it.
type client struct {
	ID        string   `json:"client_id,omitempty"`
	Name      string   `json:"client_name,omitempty"`
	Redirects []string `json:"redirect_uris"`
}

// hostForm matches hosts in ASCII, with or without a port: no letter of another
// script can imitate one.
var hostForm = lazy.Regexp(`^([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]+)?$`)

// check refuses a client whose addresses are not safe for a code: each must be
// https, or http on the machine of the person.
func (c *client) check() error {
	if len(c.Redirects) == 0 || len(c.Redirects) > maxRedirects {
		return i18n.Errorf("redirect_uris must have 1 to %d addresses", "redirect_uris 应有 1 至 %d 个地址", maxRedirects)
	}
	for _, text := range c.Redirects {
		u, err := url.Parse(text)
		if err != nil || len(text) > maxAddress || !hostForm().MatchString(u.Host) || u.User != nil || u.Fragment != "" ||
			u.Scheme != "https" && !(u.Scheme == "http" && config.IsLoopback(u.Hostname())) {
			return i18n.Errorf("the redirect address %.200q is not https, nor http on this machine", "重定向地址 %.200q 既不是 https，也不是本机的 http", text)
		}
	}
	return nil
}

// allows reports whether a code may be sent to an address. On the machine of the
// person the port may be any (RFC 8252, section 7.3).
func (c *client) allows(redirect string) bool {
	return slices.ContainsFunc(c.Redirects, func(known string) bool {
		return known == redirect || withoutPort(known) != "" && withoutPort(known) == withoutPort(redirect)
	})
}

// withoutPort returns a loopback address without its port; empty for other
// addresses.
func withoutPort(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" || u.User != nil || !config.IsLoopback(u.Hostname()) {
		return ""
	}
	u.Host = u.Hostname()
	return u.String()
}

// shown returns the name for a person, who must not take it for something else.
func (c *client) shown() string {
	name := i18n.Seen(strings.TrimSpace(c.Name))
	for n := range name {
		if utf8.RuneCountInString(name[:n]) == maxName {
			return name[:n] + "…"
		}
	}
	return name
}

// register registers a client (RFC 7591). Everything is in the id, so nothing is
// stored and a restart forgets no client. The id needs no signature: anyone may
// register.
func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	var c client
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		refuse(w, "invalid_client_metadata", "the body is not the JSON of a client")
		return
	}
	c.ID, c.Name = "", c.shown()
	if err := c.check(); err != nil {
		refuse(w, "invalid_redirect_uri", err.Error())
		return
	}
	data, err := json.Marshal(c)
	if err != nil {
		refuse(w, "invalid_client_metadata", err.Error())
		return
	}
	answer(w, http.StatusCreated, map[string]any{
		"client_id":   registered + base64.RawURLEncoding.EncodeToString(data),
		"client_name": c.Name, "redirect_uris": c.Redirects, "token_endpoint_auth_method": "none",
		"grant_types": []string{"authorization_code"}, "response_types": []string{"code"},
	})
}

var errNoClient = i18n.Errorf("the client is not known here", "未知的客户端")

// find returns the client with an id: one that registered itself, or the one
// that the document at an address describes.
func (s *Server) find(ctx context.Context, id string, conf config.Sharing) (*client, error) {
	var data []byte
	var err error
	text, own := strings.CutPrefix(id, registered)
	if own {
		data, err = base64.RawURLEncoding.DecodeString(text)
	} else {
		data, err = s.document(ctx, id, conf)
	}
	if err != nil {
		return nil, err
	}
	var c client
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, errNoClient
	}
	if !own && c.ID != id {
		return nil, i18n.Errorf("the document at %s describes another client", "%s 处的文档描述的是另一个客户端", id)
	}
	c.ID = id
	return &c, c.check()
}

// document fetches the metadata document of a client.
func (s *Server) document(ctx context.Context, id string, conf config.Sharing) ([]byte, error) {
	u, err := url.Parse(id)
	if err != nil || u.Scheme != "https" || !hostForm().MatchString(u.Host) || u.User != nil || u.Fragment != "" || len(u.Path) < 2 || len(id) > maxAddress ||
		slices.ContainsFunc(strings.Split(u.EscapedPath(), "/"), func(s string) bool { return s == "." || s == ".." }) {
		return nil, errNoClient
	}
	own, err := url.Parse(conf.URL)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, id, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	select {
	case s.fetching <- struct{}{}:
		defer func() { <-s.fetching }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	resp, err := s.fetch(config.IsLoopback(own.Hostname())).Do(req)
	if err != nil {
		return nil, i18n.Errorf("fetching the document of the client: %w", "获取客户端文档失败：%w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, i18n.Errorf("fetching the document of the client: %s says %s", "获取客户端文档失败：%s 返回 %s", id, resp.Status)
	}
	return io.ReadAll(resp.Body)
}
