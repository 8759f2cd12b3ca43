// Package project derives the project of a client from its roots.
package project

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"mcp-all-in-one/internal/jsonrpc"
)

// A Project identifies clients with the same roots. A server keeps the roots that
// it is told, so two clients that share only their first root have different
// projects. A client that works on no folder has a nil Project.
type Project struct {
	// Folder is the first root that is a folder, as a path of this system; empty
	// if commands cannot start in it.
	Folder string
	// Roots is the result of roots/list.
	Roots []byte

	id        string
	somewhere bool // a root is a folder
}

// Somewhere reports whether the client works on a folder.
func (p *Project) Somewhere() bool { return p != nil && p.somewhere }

// Of returns the project of a client with the given result of roots/list; nil if
// no root is a folder.
func Of(result []byte) *Project {
	if p := Any(result); p.Somewhere() {
		return p
	}
	return nil
}

// Any is like Of, but never returns nil: clients without a folder, too, are alike
// only with the same roots. A client that did not answer has none.
func Any(result []byte) *Project {
	if jsonrpc.Get(result, "roots") == nil {
		result = []byte(`{"roots":[]}`)
	}
	p := &Project{Roots: bytes.Clone(result)}
	var id []string
	for root := range jsonrpc.Elements(jsonrpc.AsArray(jsonrpc.Get(result, "roots"))) {
		uri, _ := jsonrpc.GetString(root, "uri")
		host, folder, ok := split(uri)
		if !ok {
			id = append(id, uri)
			continue
		}
		id = append(id, "file://"+host+folder)
		if !p.somewhere && host == "" {
			p.Folder = local(folder)
		}
		p.somewhere = true
	}
	p.id = fmt.Sprintf("%q", id)
	return p
}

// List returns the answer to roots/list with the given roots.
func List[R any](roots []R) *jsonrpc.Response {
	if roots == nil {
		roots = []R{}
	}
	raw, err := json.Marshal(map[string]any{"roots": roots})
	if err != nil {
		return &jsonrpc.Response{Err: jsonrpc.Errorf(jsonrpc.CodeInternal, "encoding roots: %v", err)}
	}
	return &jsonrpc.Response{Result: raw}
}

// ID returns a key that is equal for clients that share a connection.
func (p *Project) ID() string {
	if p == nil {
		return ""
	}
	return p.Folder + "\n" + p.id
}

// Exists reports whether the folder is there.
func (p *Project) Exists() bool {
	info, err := os.Stat(p.Folder) // fails for an empty one
	return err == nil && info.IsDir()
}

// Here reports whether the folder is the working directory of this process.
func (p *Project) Here() bool {
	there, err := os.Stat(p.Folder)
	if err != nil {
		return false
	}
	here, err := os.Stat(".")
	return err == nil && os.SameFile(here, there)
}

// split parses a file URI and normalizes the host and the folder.
func split(uri string) (host, folder string, ok bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || !strings.HasPrefix(u.Path, "/") {
		return "", "", false
	}
	folder = path.Clean(u.Path)
	if hasDrive(folder) {
		folder = "/" + strings.ToUpper(folder[1:2]) + folder[2:] // some clients write c%3A
	}
	if host = strings.ToLower(u.Host); host == "localhost" {
		host = ""
	}
	return host, folder, true
}

// hasDrive reports whether a folder is a Windows path such as /C:/work.
func hasDrive(folder string) bool {
	return len(folder) > 2 && folder[2] == ':' && (folder[1]|0x20) >= 'a' && (folder[1]|0x20) <= 'z'
}

// local returns a folder as a path of this system; empty if that is not possible.
func local(folder string) string {
	if runtime.GOOS == "windows" {
		folder = filepath.FromSlash(strings.TrimPrefix(folder, "/"))
	}
	if !filepath.IsAbs(folder) {
		return ""
	}
	return folder
}
