package web

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/web/api"
)

//go:embed all:dist
var dist embed.FS

func embedded() fs.FS {
	sub, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the name is a constant
	}
	return sub
}

// Notices returns the licences of works of others in the program; nil if it was
// built without them.
func Notices() []byte {
	packed, err := dist.ReadFile("dist/THIRD_PARTY_NOTICES.txt.gz")
	if err != nil {
		return nil
	}
	return unpack(packed)
}

// unpack returns the content of an embedded file.
func unpack(packed []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		panic(err) // the build wrote it
	}
	data, err := io.ReadAll(z)
	if err != nil {
		panic(err)
	}
	return data
}

const noPage = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>mcp-all-in-one</title>
<h1>This binary was built without the console</h1>
<p>Build it again with npm (Node 20 or newer) on the PATH: <code>make build</code>.</p>
<p>本程序构建时未包含控制台。安装 npm（Node 20 或更新）后重新执行 <code>make build</code>。</p>
<p>The JSON API is at <code>/api/v1/</code>, its description at <a href="/api/v1/openapi.json">/api/v1/openapi.json</a>.</p>
</html>
`

// page serves the built files, which are stored compressed.
type page struct{ files fs.FS }

// ServeHTTP serves a file below /ui/. Any other path gets the page itself,
// whose router shows the matching screen.
func (p page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		api.Fail(w, r, http.StatusMethodNotAllowed, "method", i18n.New("use GET", "请使用 GET"))
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/ui/")
	isAsset := strings.HasPrefix(name, "assets/") || path.Ext(name) != "" && !strings.Contains(name, "/")
	if !isAsset {
		name = "index.html"
	}
	packed, err := fs.ReadFile(p.files, name+".gz")
	switch {
	case err == nil:
		serve(w, r, name, packed)
	case isAsset:
		api.Fail(w, r, http.StatusNotFound, "not_found", i18n.New("no such file", "没有这个文件"))
	default:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusNotImplemented)
		_, _ = w.Write([]byte(noPage))
	}
}

func serve(w http.ResponseWriter, r *http.Request, name string, packed []byte) {
	sum := sha256.Sum256(packed)
	etag := `"` + hex.EncodeToString(sum[:12]) + `"`
	h := w.Header()
	h.Set("Content-Type", cmp.Or(mime.TypeByExtension(path.Ext(name)), "application/octet-stream"))
	h.Set("ETag", etag)
	h.Set("Cache-Control", "no-cache")
	h.Set("Vary", "Accept-Encoding")
	switch {
	case r.Header.Get("If-None-Match") == etag:
		w.WriteHeader(http.StatusNotModified)
	case strings.Contains(r.Header.Get("Accept-Encoding"), "gzip"):
		h.Set("Content-Encoding", "gzip")
		_, _ = w.Write(packed)
	default:
		_, _ = w.Write(unpack(packed))
	}
}
