package install

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/steering"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/oauth"
	"mcp-all-in-one/internal/safehttp"
	"mcp-all-in-one/internal/spelling"
)

// officialURL is the address of the official registry.
const officialURL = "https://registry.modelcontextprotocol.io"

const (
	// ListPath is the path of the list of servers.
	ListPath = "/v0.1/servers"
	pageSize = "50"
	maxPages = 20
	// mostNamed is how many stored records an error names.
	mostNamed = 8
	// MinSearch is the minimum length of a search word.
	MinSearch = 3
)

// Registries are the configured registries, in order.
type Registries struct {
	list []*registry
	kept keeper
}

type registry struct {
	name, url, token string
	names            []string
	client           *http.Client
	close            func() // closes the connections
}

// Open returns the registries of a configuration: nil means the official one,
// an empty list none. Fetched records are stored in dir. A registry without a
// token gets the one of its sign-in; signIns may be nil.
func Open(list []config.Registry, dir string, signIns *oauth.Keeper) *Registries {
	r := &Registries{kept: keeper{dir}}
	for _, c := range list {
		base := safehttp.NewConfigured(safehttp.Timeout) // follows no redirect, so the token goes nowhere else
		client := *base
		if signIns != nil && c.Token == "" {
			client.Transport = signIns.Transport(AsServer(&c), "", base.Transport)
		}
		r.list = append(r.list, &registry{name: c.Name, url: strings.TrimSuffix(c.URL, "/"), token: c.Token.Reveal(), names: c.Names, client: &client, close: base.CloseIdleConnections})
	}
	if list == nil || len(list) > 0 {
		official := safehttp.NewClient(safehttp.Options{})
		r.list = append(r.list, &registry{name: config.OfficialRegistry, url: officialURL, client: official, close: official.CloseIdleConnections})
	}
	return r
}

// Word precedes the name of a registry where the name of a server stands
// otherwise.
const Word = "registry:"

// AsServer returns a registry as a server to sign in to.
func AsServer(c *config.Registry) *config.Server {
	return &config.Server{Name: Word + c.Name, URL: strings.TrimSuffix(c.URL, "/"), Auth: c.Auth}
}

// TokenName is the name under which the secret store keeps the token of a
// registry. It belongs to the address: a registry that moves gets no token of
// the old place.
func TokenName(address string) string { return Word + strings.TrimSuffix(address, "/") }

// TryToken asks a registry for one server with a token.
func TryToken(ctx context.Context, c config.Registry, token string) error {
	c.Token = config.Secret(token)
	r := Open([]config.Registry{c}, "", nil)
	defer r.Close()
	_, err := r.list[0].get(ctx, ListPath, url.Values{"limit": {"1"}})
	return err
}

// Close closes the connections.
func (r *Registries) Close() {
	for _, g := range r.list {
		g.close()
	}
}

// errNotFound is a 404 of a registry. After any other error the next registry
// is not asked.
var errNotFound = i18n.Errorf("not found", "未找到")

// asked returns the registries that may be asked for a name: those whose names
// match it, or else all.
func (r *Registries) asked(name string) []*registry {
	var bound []*registry
	for _, g := range r.list {
		if slices.ContainsFunc(g.names, func(pattern string) bool { return steering.Matches(pattern, name) }) {
			bound = append(bound, g)
		}
	}
	if bound != nil {
		return bound
	}
	return r.list
}

// Find fetches the record of a server. An empty version means the latest.
func (r *Registries) Find(ctx context.Context, name, version string) (*Record, error) {
	asked := r.asked(name)
	if len(asked) == 0 {
		return nil, fail(env.CodeUnknownName, "no registry is asked: \"registries\" is empty", "没有可询问的注册表：\"registries\" 为空")
	}
	wanted := cmp.Or(version, "latest")
	for _, g := range asked {
		data, err := g.get(ctx, ListPath+"/"+url.PathEscape(name)+"/versions/"+url.PathEscape(wanted), nil)
		switch {
		case errors.Is(err, errNotFound) && version != "":
			if list := g.versions(ctx, name); len(list) > 0 {
				return nil, fail(env.CodeNoVersion, "%s is not published; available: %s", "%s 没有发布；可用：%s", Show(version), Show(strings.Join(list, ", ")))
			}
			continue
		case errors.Is(err, errNotFound):
			continue
		case err != nil:
			return r.offline(g, name, version, err)
		}
		rec, err := parseRecord(data, name)
		if err != nil {
			return nil, err
		}
		if version != "" && rec.Server.Version != version {
			return nil, fail(env.CodeRecord, "the registry was asked for version %s and answered with %s: refused", "向注册表查询版本 %s，得到的却是 %s：已拒绝", version, Show(rec.Server.Version))
		}
		rec.Registry = g.name
		r.kept.put(g.url, rec, data)
		return rec, nil
	}
	return nil, r.unknown(ctx, asked, name)
}

// offline handles a registry that cannot be reached. For an exact version it
// returns the stored record.
func (r *Registries) offline(g *registry, name, version string, cause error) (*Record, error) {
	if version != "" {
		if rec := r.kept.get(g.url, name, version); rec != nil {
			rec.Registry = g.name
			return rec, nil
		}
	}
	return nil, r.unreachable(g, cause)
}

func (r *Registries) unreachable(g *registry, cause error) error {
	if wanted, ok := errors.AsType[*oauth.SignInError](cause); ok {
		return fail(env.CodeRegistry, "the registry %s: %v", "注册表 %s：%v", g.name, wanted)
	}
	list := r.kept.list(g.url)
	if len(list) > mostNamed {
		list = append(list[:mostNamed:mostNamed], "…")
	}
	if len(list) == 0 {
		return fail(env.CodeRegistry, "the registry %s cannot be reached: %v", "无法访问注册表 %s：%v", g.name, i18n.Why(cause))
	}
	return fail(env.CodeRegistry, "the registry %s cannot be reached: %v; add NAME@VERSION works offline for what was fetched before: %s",
		"无法访问注册表 %s：%v；以前取得过的内容可用 add NAME@VERSION 离线添加：%s", g.name, i18n.Why(cause), strings.Join(list, ", "))
}

// unknown returns the error for a name that no registry has, with similar
// names.
func (r *Registries) unknown(ctx context.Context, asked []*registry, name string) error {
	var names []string
	word := LocalName(name)
	if len(word) >= MinSearch {
		for _, g := range asked {
			found, err := g.search(ctx, word)
			if err != nil {
				continue // the search only improves the message
			}
			for _, rec := range found {
				names = append(names, rec.Server.Name)
			}
		}
	}
	if near := spelling.Nearest(name, names); near != "" {
		names = append([]string{near}, slices.DeleteFunc(names, func(n string) bool { return n == near })...)
	}
	if len(names) == 0 {
		return fail(env.CodeUnknownName, "no registry knows %s", "没有注册表收录 %s", name)
	}
	return fail(env.CodeUnknownName, "no registry knows %s; near: %s", "没有注册表收录 %s；相近的有：%s", name, strings.Join(names[:min(3, len(names))], ", "))
}

// versions returns the versions of a server in the order of the registry.
func (g *registry) versions(ctx context.Context, name string) []string {
	data, err := g.get(ctx, ListPath+"/"+url.PathEscape(name)+"/versions", nil)
	if err != nil {
		return nil
	}
	list, _, err := parsePage(data)
	if err != nil {
		return nil
	}
	var versions []string
	for _, rec := range list {
		versions = append(versions, rec.Server.Version)
	}
	return versions
}

// anyName matches only patterns that match every name.
const anyName = ""

// Search lists the servers whose names contain a word, in the order of the
// registries. A name is listed only by the registries that Find asks for it.
// The errors are those of the registries that failed.
func (r *Registries) Search(ctx context.Context, word string) ([]*Record, []error) {
	var all []*Record
	var faults []error
	seen := map[string]bool{}
	for _, g := range r.asked(anyName) {
		found, err := g.search(ctx, word)
		if err != nil {
			faults = append(faults, r.unreachable(g, err))
		}
		for _, rec := range found {
			if !seen[rec.Server.Name] && slices.Contains(r.asked(rec.Server.Name), g) {
				seen[rec.Server.Name] = true
				rec.Registry = g.name
				all = append(all, rec)
			}
		}
	}
	return all, faults
}

func (g *registry) search(ctx context.Context, word string) ([]*Record, error) {
	var all []*Record
	cursors := map[string]bool{}
	query := url.Values{"search": {word}, "version": {"latest"}, "limit": {pageSize}}
	for range maxPages {
		data, err := g.get(ctx, ListPath, query)
		if err != nil {
			return all, err
		}
		list, next, err := parsePage(data)
		if err != nil {
			return all, err
		}
		all = append(all, list...)
		if next == "" || cursors[next] || len(list) == 0 {
			break
		}
		cursors[next] = true
		query.Set("cursor", next)
	}
	return all, nil
}

// parsePage parses one page of a list. It skips invalid records.
func parsePage(data []byte) (list []*Record, next string, err error) {
	var page struct {
		Servers  []*Record `json:"servers"`
		Metadata struct {
			Next string `json:"nextCursor"`
		} `json:"metadata"`
	}
	if err := parseStrict(data, &page); err != nil {
		return nil, "", err
	}
	for _, rec := range page.Servers {
		if rec != nil && rec.check() == nil {
			list = append(list, rec)
		}
	}
	return list, page.Metadata.Next, nil
}

// get fetches a page of the API.
func (g *registry) get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	address := g.url + path
	if query != nil {
		address += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	if g.token != "" {
		req.Header.Set("Authorization", "Bearer "+g.token)
	}
	resp, err := g.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotFound:
		return nil, errNotFound
	case (resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden) && g.token != "":
		return nil, i18n.Errorf("it answered %s to the token; another is set by auth login registry:%s, or in the config file", "它对该令牌的应答是 %s；请用 auth login registry:%s 或在配置文件中换一个", resp.Status, g.name)
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return nil, i18n.Errorf("it answered %s: sign in with auth login registry:%s", "它的应答是 %s：请用 auth login registry:%s 登录", resp.Status, g.name)
	case resp.StatusCode != http.StatusOK:
		return nil, i18n.Errorf("it answered %s", "它的应答是 %s", resp.Status)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxRecord+1))
	if err == nil && len(data) > maxRecord {
		err = safehttp.TooLarge(maxRecord)
	}
	return data, err
}
