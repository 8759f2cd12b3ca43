// Package upgrade checks for a newer release, tells how to install it the way
// this copy was installed, and replaces a copy that no package manager manages.
// The replacement must be a file whose checksum is in a list signed with the
// compiled-in key. It is atomic and can be undone.
package upgrade

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"time"

	"aead.dev/minisign"
	"golang.org/x/mod/semver"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/lazy"
	"mcp-all-in-one/internal/safehttp"
)

// A release sets these with -ldflags -X, from packaging/product.go: the URL of
// the releases, and the public key for the signature of their checksums.
var (
	source string
	key    string
)

const (
	name      = "mcp-all-in-one"
	sumsFile  = "SHA256SUMS"
	signature = sumsFile + ".minisig"
	maxList   = 1 << 20
	maxFile   = 200 << 20
	// patience is the time limit of one download.
	patience = 10 * time.Minute
)

// A Release is the newest release.
type Release struct {
	Version string
	// Verified reports whether the list of its files has a valid signature. Sum
	// is trustworthy only then.
	Verified bool
	Archive  string // the file for this platform; empty if there is none
	Sum      string // its SHA-256, in hex
	page     string
}

// Newer reports whether the release is newer than a version.
func (r *Release) Newer(than string) bool { return semver.Compare("v"+r.Version, "v"+than) > 0 }

// Source returns the URL of the releases; empty if none was compiled in.
func Source() string { return source }

// Platform returns the name of a platform in the file names of a release.
func Platform(goos, goarch string) string {
	if goos == "darwin" {
		goos = "macos"
	}
	if goarch == "arm" {
		goarch = "armv7"
	}
	return goos + "-" + goarch
}

// Latest fetches the newest release.
func Latest(ctx context.Context) (*Release, error) {
	if source == "" {
		return nil, i18n.Errorf("this copy was built without the address of a release page", "此副本构建时未包含发布页地址")
	}
	sums, err := get(ctx, source+"/latest/download/"+sumsFile, maxList)
	if err != nil {
		return nil, err
	}
	r := &Release{page: source}
	if key != "" {
		signed, err := get(ctx, source+"/latest/download/"+signature, maxList)
		if err != nil {
			return nil, err
		}
		if err := verify(sums, signed); err != nil {
			return nil, err
		}
		r.Verified = true
	}
	return r, r.read(sums)
}

// verify checks the signature of a list with the compiled-in key.
func verify(sums, signed []byte) error {
	var public minisign.PublicKey
	if err := public.UnmarshalText([]byte(key)); err != nil {
		return i18n.Errorf("the key that was compiled in: %w", "内置的公钥：%w", err)
	}
	if !minisign.Verify(public, sums, signed) {
		return i18n.Errorf("the signature of %s was not made with the key that is compiled in: nothing of this release is used", "%s 的签名与内置公钥不符：不使用此发布的任何内容", sumsFile)
	}
	return nil
}

var archiveName = lazy.Regexp(`^` + name + `-(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+?)?)-((?:linux|macos|windows)-[0-9a-z]+)\.(?:tar\.gz|zip)$`)

// read extracts the version and the file for this platform from the list.
func (r *Release) read(sums []byte) error {
	lines := bufio.NewScanner(bytes.NewReader(sums))
	for lines.Scan() {
		sum, file, _ := strings.Cut(lines.Text(), "  ")
		m := archiveName().FindStringSubmatch(file)
		if m == nil {
			continue
		}
		if r.Version != "" && r.Version != m[1] {
			return i18n.Errorf("%s names the versions %s and %s", "%s 中有两个版本：%s 与 %s", sumsFile, r.Version, m[1])
		}
		r.Version = m[1]
		if m[2] == Platform(runtime.GOOS, runtime.GOARCH) {
			r.Archive, r.Sum = file, sum
		}
	}
	if r.Version == "" {
		return i18n.Errorf("%s of %s names no release of %s", "%s（%s）中没有 %s 的发布", sumsFile, r.page, name)
	}
	return nil
}

// download returns the program of a release whose list was verified.
func (r *Release) download(ctx context.Context) ([]byte, error) {
	if !r.Verified {
		return nil, i18n.Errorf("no key to check a release with was compiled into this copy, so it replaces nothing", "此副本未内置用于验证发布的公钥，因此不会替换任何文件")
	}
	if r.Archive == "" {
		return nil, i18n.Errorf("release %s has no file for %s", "发布 %s 没有适用于 %s 的文件", r.Version, Platform(runtime.GOOS, runtime.GOARCH))
	}
	data, err := get(ctx, r.page+"/download/v"+r.Version+"/"+r.Archive, maxFile)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != r.Sum {
		return nil, i18n.Errorf("the checksum of %s is %x, and the signed list says %s: nothing was replaced", "%s 的校验和为 %x，而签名列表中为 %s：未作任何替换", r.Archive, sum, r.Sum)
	}
	return unpack(r.Archive, data)
}

// get fetches a file of the release page. It follows redirects, which release
// pages use for downloads, but requires TLS; the content is verified with the
// key.
func get(ctx context.Context, address string, limit int64) ([]byte, error) {
	client := safehttp.NewConfigured(patience)
	client.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if len(via) >= 5 || !safe(r.URL) {
			return i18n.Errorf("redirected to %s", "被重定向到 %s", r.URL.Redacted())
		}
		return nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	if !safe(req.URL) {
		return nil, i18n.Errorf("%s is not an https address", "%s 不是 https 地址", address)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, i18n.Errorf("asking the release page: %w", "访问发布页失败：%w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, i18n.Errorf("asking the release page: %s says %s", "访问发布页失败：%s 返回 %s", address, resp.Status)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, i18n.Errorf("reading %s: %w", "读取 %s 失败：%w", address, err)
	}
	if int64(len(data)) > limit {
		return nil, i18n.Errorf("%s is larger than %d bytes", "%s 超过 %d 字节", address, limit)
	}
	return data, nil
}

// safe reports whether a URL may be used: over TLS, or on this machine.
func safe(u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "http" && config.IsLoopback(u.Hostname())
}
