package access

import (
	"encoding/json"
	"net/http"
	"strings"
)

const wellKnown = "/.well-known/oauth-protected-resource"

// MetadataPaths returns the paths of the resource's metadata: for the origin, and
// for the path of the resource.
func (rs *ResourceServer) MetadataPaths() []string {
	paths := []string{wellKnown}
	if path := strings.TrimSuffix(rs.resource.Path, "/"); path != "" {
		paths = append(paths, wellKnown+path)
	}
	return paths
}

// metadataURL is built from the configured resource only, because the host in a
// request is not trustworthy.
func (rs *ResourceServer) metadataURL() string {
	paths := rs.MetadataPaths()
	return rs.resource.Scheme + "://" + rs.resource.Host + paths[len(paths)-1]
}

// ServeHTTP serves the metadata of RFC 9728.
func (rs *ResourceServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	doc := struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
		Scopes   []string `json:"scopes_supported,omitempty"`
		Methods  []string `json:"bearer_methods_supported"`
		Name     string   `json:"resource_name"`
	}{rs.conf.Resource, []string{rs.conf.Issuer}, rs.scopes(), []string{"header"}, "mcp-all-in-one"}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "max-age=300")
	w.Header().Set("Access-Control-Allow-Origin", "*") // it is public, and clients in browsers need it
	_ = json.NewEncoder(w).Encode(doc)
}

func (rs *ResourceServer) scopes() []string {
	scopes := rs.conf.Scopes
	if rs.conf.AdminScope != "" {
		scopes = append(scopes[:len(scopes):len(scopes)], rs.conf.AdminScope)
	}
	return scopes
}

// challenge returns the value of WWW-Authenticate; rs may be nil.
func (rs *ResourceServer) challenge(code string) string {
	text := `Bearer realm="mcp-all-in-one"`
	if code != "" {
		text += `, error="` + code + `"`
	}
	if rs == nil {
		return text
	}
	if len(rs.conf.Scopes) > 0 {
		text += `, scope="` + strings.Join(rs.conf.Scopes, " ") + `"`
	}
	return text + `, resource_metadata="` + rs.metadataURL() + `"`
}
