package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"

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
	text, err := dist.ReadFile("dist/THIRD_PARTY_NOTICES.txt")
	if err != nil {
		return nil
	}
	return text
}

const noPage = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>mcp-all-in-one</title>
<h1>This binary was built without the console</h1>
<p>Build it again with npm (Node 20 or newer) on the PATH: <code>make build</code>.</p>
<p>本程序构建时未包含控制台。安装 npm（Node 20 或更新）后重新执行 <code>make build</code>。</p>
<p>The JSON API is at <code>/api/v1/</code>, its description at <a href="/api/v1/openapi.json">/api/v1/openapi.json</a>.</p>
</html>
`

// page serves the built files from memory. Each file is compressed once.
type page struct {
	files fs.FS
	mu    sync.Mutex
	cache map[string]*asset
}

type asset struct {
	data, gzipped []byte
	kind, etag    string
}

func newPage(files fs.FS) *page { return &page{files: files, cache: map[string]*asset{}} }

// ServeHTTP serves a file below /ui/. Any other path gets the page itself,
// whose router shows the matching screen.
func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
	a := p.load(name)
	if a == nil && !isAsset {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusNotImplemented)
		_, _ = w.Write([]byte(noPage))
		return
	}
	if a == nil {
		api.Fail(w, r, http.StatusNotFound, "not_found", i18n.New("no such file", "没有这个文件"))
		return
	}
	a.serve(w, r)
}

func (a *asset) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("ETag", a.etag)
	h.Set("Cache-Control", "no-cache")
	h.Set("Vary", "Accept-Encoding")
	if r.Header.Get("If-None-Match") == a.etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	data := a.data
	if a.gzipped != nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		data = a.gzipped
	}
	if r.Method != http.MethodHead {
		_, _ = w.Write(data)
	}
}

func (p *page) load(name string) *asset {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a, ok := p.cache[name]; ok {
		return a
	}
	data, err := fs.ReadFile(p.files, name)
	if err != nil {
		return nil
	}
	sum := sha256.Sum256(data)
	a := &asset{data: data, kind: mime.TypeByExtension(path.Ext(name)), etag: `"` + hex.EncodeToString(sum[:12]) + `"`}
	if a.kind == "" {
		a.kind = "application/octet-stream"
	}
	var buf bytes.Buffer
	zw, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err == nil {
		_, err = zw.Write(data)
	}
	if err == nil && zw.Close() == nil && buf.Len() < len(data) {
		a.gzipped = buf.Bytes()
	}
	p.cache[name] = a
	return a
}
