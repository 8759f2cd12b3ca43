package daemon

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/lazy"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

// The registry describes the schemas and servers of this gateway as an MCP
// registry does (API v0.1), so that clients of registries find them. It lists
// what the principal sees, each as a remote server at the address that the
// client used.

// The prefix and the limits of the API.
const (
	registryPath = "/v0.1/servers"
	serverSchema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
	pageDefault  = 30
	pageMost     = 100
	searchLeast  = 3
	mostName     = 200
	// mostDescription is in bytes: names that fit registries are ASCII.
	mostDescription = 100
)

// A registryRecord is one entry of the registry.
type registryRecord struct {
	Server registryServer          `json:"server"`
	Meta   map[string]registryMeta `json:"_meta"`
}

type registryServer struct {
	Schema      string           `json:"$schema"`
	Name        string           `json:"name"`
	Description string           `json:"description"`
	Version     string           `json:"version"`
	Remotes     []registryRemote `json:"remotes"`
}

type registryRemote struct {
	Type    string          `json:"type"`
	URL     string          `json:"url"`
	Headers []registryInput `json:"headers,omitempty"`
}

type registryInput struct {
	Name        string                   `json:"name,omitempty"`
	Description string                   `json:"description"`
	Value       string                   `json:"value,omitempty"`
	Required    bool                     `json:"isRequired"`
	Secret      bool                     `json:"isSecret"`
	Variables   map[string]registryInput `json:"variables,omitempty"`
}

type registryMeta struct {
	Status    string    `json:"status"`
	Changed   time.Time `json:"statusChangedAt"`
	Published time.Time `json:"publishedAt"`
	Updated   time.Time `json:"updatedAt"`
	Latest    bool      `json:"isLatest"`
}

type registryPage struct {
	Servers  []registryRecord `json:"servers"`
	Metadata struct {
		Next  string `json:"nextCursor,omitempty"`
		Count int    `json:"count"`
	} `json:"metadata"`
}

// registry serves the paths of the API. It returns false for other paths.
func (rt *router) registry(w http.ResponseWriter, r *http.Request, path string) bool {
	rest, ok := strings.CutPrefix(path, registryPath)
	if !ok || rest != "" && rest[0] != '/' {
		return false
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		registryProblem(w, http.StatusMethodNotAllowed, "nothing can be published here: the servers are those of this gateway's config file")
		return true
	}
	w.Header().Set("Cache-Control", "no-store") // it differs by principal
	all := rt.published(r)
	if rest == "" {
		listPublished(w, r.URL.Query(), all)
		return true
	}
	name, version, one := strings.Cut(rest[1:], "/versions")
	name, err := url.PathUnescape(name)
	found := slices.IndexFunc(all, func(rec registryRecord) bool { return rec.Server.Name == name })
	switch {
	case err != nil || !one || found < 0:
		registryProblem(w, http.StatusNotFound, "Server not found")
	case version == "":
		writePublished(w, all[found:found+1], "")
	case version == "/latest" || version == "/"+url.PathEscape(all[found].Server.Version):
		writeJSON(w, http.StatusOK, all[found])
	default:
		registryProblem(w, http.StatusNotFound, "Server not found")
	}
	return true
}

// listPublished serves the list, in the order of the names.
func listPublished(w http.ResponseWriter, query url.Values, all []registryRecord) {
	limit, err := strconv.Atoi(cmp.Or(query.Get("limit"), strconv.Itoa(pageDefault)))
	search, version, cursor := query.Get("search"), query.Get("version"), query.Get("cursor")
	since := time.Time{}
	switch {
	case err != nil || limit < 1 || limit > pageMost:
		registryProblem(w, http.StatusUnprocessableEntity, fmt.Sprintf("limit is a number from 1 to %d", pageMost))
		return
	case search != "" && utf8.RuneCountInString(strings.TrimSpace(search)) < searchLeast:
		registryProblem(w, http.StatusUnprocessableEntity, fmt.Sprintf("search needs at least %d characters", searchLeast))
		return
	case query.Get("updated_since") != "":
		if since, err = time.Parse(time.RFC3339, query.Get("updated_since")); err != nil {
			registryProblem(w, http.StatusBadRequest, "updated_since is a time as in RFC 3339")
			return
		}
	}
	list := slices.DeleteFunc(all, func(rec registryRecord) bool {
		s := &rec.Server
		return s.Name <= cursor || !strings.Contains(strings.ToLower(s.Name), strings.ToLower(search)) ||
			version != "" && version != "latest" && version != s.Version || rec.Meta[registryKey].Updated.Before(since)
	})
	next := ""
	if len(list) > limit {
		list = list[:limit]
		next = list[limit-1].Server.Name
	}
	writePublished(w, list, next)
}

func writePublished(w http.ResponseWriter, list []registryRecord, next string) {
	page := registryPage{Servers: append([]registryRecord{}, list...)}
	page.Metadata.Next, page.Metadata.Count = next, len(list)
	writeJSON(w, http.StatusOK, page)
}

// registryProblem answers with an error in the form of the official registry
// (RFC 9457).
func registryProblem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"title":%q,"status":%d,"detail":%q}`+"\n", http.StatusText(status), status, detail)
}

const registryKey = "io.modelcontextprotocol.registry/official"

// registryName is the grammar of names in a registry.
var registryName = lazy.Regexp(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`)

// registryVersion is the grammar of versions that every client of registries
// accepts.
var registryVersion = lazy.Regexp(`^[0-9A-Za-z][0-9A-Za-z.+-]{0,63}$`)

// published returns what the principal of a request sees, sorted by name: each
// schema with a server as SPACE/SCHEMA, each server as SPACE.SCHEMA/SERVER. A name that does
// not fit the grammar of registries is left out.
func (rt *router) published(r *http.Request) []registryRecord {
	who, space, base := access.From(r.Context()), nameSpace(r.Host), rt.base(r)
	var all []registryRecord
	add := func(name, description, version, path string) {
		if !registryName().MatchString(name) || len(name) > mostName {
			return
		}
		remote := registryRemote{Type: "streamable-http", URL: base + path}
		if rt.in.Access().Required {
			remote.Headers = []registryInput{{Name: "Authorization", Description: "a key of this gateway", Value: "Bearer {key}", Required: true, Secret: true,
				Variables: map[string]registryInput{"key": {Description: "a key of this gateway", Required: true, Secret: true}}}}
		}
		all = append(all, registryRecord{
			Server: registryServer{Schema: serverSchema, Name: name, Description: description[:min(len(description), mostDescription)], Version: version, Remotes: []registryRemote{remote}},
			Meta:   map[string]registryMeta{registryKey: {"active", rt.in.Started, rt.in.Started, rt.in.Started, true}},
		})
	}
	schemas := map[string]bool{}
	for _, s := range rt.in.Statuses() {
		if s.State == upstream.Disabled || s.State == upstream.Pending || !who.MaySee(s.Schema, s.Name, "") {
			continue
		}
		if !schemas[s.Schema] {
			schemas[s.Schema] = true
			add(space+"/"+s.Schema, "all servers of the schema "+s.Schema+" as one", mcp.ProductVersion, "/api/"+s.Schema+"/mcp")
		}
		version, _ := jsonrpc.GetString(s.ServerInfo, "version")
		if !registryVersion().MatchString(version) || version == "latest" {
			version = "0.0.0"
		}
		add(space+"."+s.Schema+"/"+s.Name, "the server "+s.Name+" of the schema "+s.Schema, version, "/api/"+s.Schema+"/s/"+s.Name+"/mcp")
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Server.Name < all[j].Server.Name })
	return all
}

// base returns the address that the client used.
func (rt *router) base(r *http.Request) string {
	if strings.HasPrefix(rt.in.URL, "https:") || r.Header.Get("X-Forwarded-Proto") == "https" {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// nameSpace returns the name of a host in reverse order, as registries name
// their servers. An address or a name without a dot is local.gateway.
func nameSpace(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	labels := strings.Split(strings.ToLower(strings.TrimSuffix(host, ".")), ".")
	if len(labels) < 2 || net.ParseIP(strings.Trim(host, "[]")) != nil {
		return "local.gateway"
	}
	slices.Reverse(labels)
	return strings.Join(labels, ".")
}
