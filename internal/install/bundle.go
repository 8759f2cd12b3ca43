package install

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/safehttp"
)

// Limits of a bundle. The ratio is only checked for files of at least ratioFrom
// bytes.
const (
	MaxPacked   = 256 << 20 // size of the archive in bytes
	maxUnpacked = 1 << 30
	maxEntries  = 50_000
	maxRatio    = 200
	ratioFrom   = 64 << 10
	fetchTime   = 10 * time.Minute
)

// IsBundle reports whether a word names a bundle: a file or an address that
// ends in .mcpb or .dxt.
func IsBundle(word string) bool {
	if u, err := url.Parse(word); err == nil && u.Scheme != "" && u.Host != "" {
		if u.Scheme != "https" && u.Scheme != "http" {
			return false
		}
		word = u.Path
	}
	word = strings.ToLower(word)
	return strings.HasSuffix(word, ".mcpb") || strings.HasSuffix(word, ".dxt")
}

// A Bundle is a checked archive with a server.
type Bundle struct {
	Source    string // file or address
	SHA256    string
	Signature *Signature // nil if it is not signed
	Manifest  Manifest

	file *os.File
	zip  *zip.Reader
}

// FetchBundle opens a bundle. source is a file or an address. It is copied to a
// temporary file: what a person is shown must be what is unpacked later. sum is the
// required SHA-256; "" accepts any.
func FetchBundle(ctx context.Context, source, sum string) (*Bundle, error) {
	file, err := openSource(ctx, source)
	if err != nil {
		return nil, err
	}
	return OpenBundle(file, source, sum)
}

// OpenBundle is like FetchBundle for an open file; source is its name. It
// closes the file if it fails, else Close does.
func OpenBundle(file *os.File, source, sum string) (*Bundle, error) {
	b := &Bundle{Source: source, file: file}
	if err := b.open(sum); err != nil {
		file.Close()
		return nil, err
	}
	return b, nil
}

// Unpacked returns a bundle that was unpacked below dir, with only its
// manifest.
func Unpacked(dir, sum string) (*Bundle, error) {
	b := &Bundle{SHA256: sum}
	if !sha256Text().MatchString(sum) {
		return nil, badBundle("%s is not a SHA-256", "%s 不是 SHA-256", Show(sum))
	}
	file, err := os.Open(filepath.Join(b.Folder(dir), "manifest.json"))
	if err != nil {
		return nil, fail(env.CodeBundleAway, "the bundle cannot be read: %v", "无法读取安装包：%v", i18n.Why(err))
	}
	defer file.Close()
	return b, b.parseManifest(file)
}

// Close closes the archive.
func (b *Bundle) Close() { b.file.Close() }

func openSource(ctx context.Context, source string) (*os.File, error) {
	file, err := os.CreateTemp("", "bundle-*")
	if err != nil {
		return nil, err
	}
	os.Remove(file.Name()) // the open file lasts until it is closed
	if u, e := url.Parse(source); e != nil || u.Host == "" {
		if err = copyFile(source, file); err != nil {
			err = fail(env.CodeBundleAway, "the bundle cannot be read: %v", "无法读取安装包：%v", i18n.Why(err))
		}
	} else if err = download(ctx, source, file); err != nil {
		err = fail(env.CodeBundleAway, "the bundle cannot be downloaded: %v", "无法下载安装包：%v", i18n.Why(err))
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// copyFile copies at most one byte more than a bundle may have.
func copyFile(path string, to *os.File) error {
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return i18n.Errorf("%s is not a file", "%s 不是文件", i18n.Seen(path))
	}
	_, err = io.Copy(to, io.LimitReader(from, MaxPacked+1))
	return err
}

func download(ctx context.Context, address string, file *os.File) error {
	client := safehttp.NewClient(safehttp.Options{MaxBody: MaxPacked, Timeout: fetchTime})
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return i18n.Errorf("it answered %s", "它的应答是 %s", resp.Status)
	}
	_, err = io.Copy(file, resp.Body)
	return err
}

func badBundle(en, zh string, args ...any) error {
	return fail(env.CodeBundle, "the bundle is refused: %v", "安装包被拒绝：%v", i18n.New(en, zh, args...))
}

// open checks the archive and reads its manifest.
func (b *Bundle) open(sum string) error {
	info, err := b.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() > MaxPacked {
		return badBundle("it is larger than %d MiB", "超过 %d MiB", MaxPacked>>20)
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(b.file, 0, info.Size())); err != nil {
		return err
	}
	b.SHA256 = hex.EncodeToString(h.Sum(nil))
	if sum != "" && sum != b.SHA256 {
		return fail(env.CodeDigest, "the bundle has sha256 %s, the registry says %s: nothing was unpacked", "安装包的 sha256 为 %s，注册表所记录的是 %s：没有解包", b.SHA256, sum)
	}
	size := int64(0)
	if b.Signature, size, err = readSignature(b.file, info.Size()); err != nil {
		return err
	}
	// What follows the signed part could be another archive.
	if b.zip, err = zip.NewReader(io.NewSectionReader(b.file, 0, size), size); err != nil {
		return badBundle("it is not a zip archive", "不是 zip 文件")
	}
	if err := b.checkEntries(); err != nil {
		return err
	}
	return b.readManifest()
}

// checkEntries checks the whole archive before any of it is used.
func (b *Bundle) checkEntries() error {
	if len(b.zip.File) > maxEntries {
		return badBundle("it has more than %d entries", "条目超过 %d 个", maxEntries)
	}
	seen := make(map[string]bool, len(b.zip.File))
	var total uint64
	for _, f := range b.zip.File {
		if err := checkEntry(f); err != nil {
			return err
		}
		key := folded(strings.TrimSuffix(f.Name, "/"))
		if seen[key] {
			return badBundle("two entries have the name %s", "两个条目同名：%s", Show(f.Name))
		}
		seen[key] = true
		if total += f.UncompressedSize64; total > maxUnpacked {
			return badBundle("it is larger than %d MiB unpacked", "解包后超过 %d MiB", maxUnpacked>>20)
		}
		if err := b.agrees(f); err != nil {
			return err
		}
	}
	return nil
}

// longer are the letters that case folding replaces by several, and that neither
// decomposition nor a change of case replaces.
var longer = strings.NewReplacer("ß", "ss", "ŉ", "ʼn", "և", "եւ", "ẚ", "aʾ", "ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st",
	"ﬓ", "մն", "ﬔ", "մե", "ﬕ", "մի", "ﬖ", "վն", "ﬗ", "մխ")

// folded returns the same text for names that are one file where case and
// composition of letters do not count.
func folded(name string) string {
	return longer.Replace(strings.ToLower(strings.ToUpper(norm.NFD.String(name))))
}

// checkEntry refuses names that lead out of the bundle's folder, and entries
// that are neither files nor folders.
func checkEntry(f *zip.File) error {
	switch name := strings.TrimSuffix(f.Name, "/"); {
	case !safeName(name):
		return badBundle("the name %s is not a plain path inside the bundle", "名称 %s 不是安装包内的普通路径", Show(f.Name))
	case f.Mode()&^(os.ModeDir|os.ModePerm) != 0:
		return badBundle("%s is neither a file nor a folder, or has a set-id bit", "%s 不是文件或文件夹，或带有 set-id 位", Show(f.Name))
	case f.Mode().IsDir() != strings.HasSuffix(f.Name, "/"):
		return badBundle("%s is a file and a folder", "%s 既是文件又是文件夹", Show(f.Name))
	case f.Flags&1 != 0 || f.Method != zip.Store && f.Method != zip.Deflate:
		return badBundle("%s is encrypted, or packed in an unusual way", "%s 已加密，或使用了不常见的压缩方式", Show(f.Name))
	case f.UncompressedSize64 > ratioFrom && f.UncompressedSize64/max(f.CompressedSize64, 1) > maxRatio:
		return badBundle("%s unpacks to more than %d times its size", "%s 解包后超过原大小的 %d 倍", Show(f.Name), maxRatio)
	}
	return nil
}

// safeName reports whether a name means the same file inside a folder on every
// system.
func safeName(name string) bool {
	if name == "" || len(name) > 1024 || strings.ContainsAny(name, "\\:\x00") || !utf8.ValidString(name) || strings.ContainsFunc(name, i18n.Unseen) {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." || strings.TrimRight(part, ". ") == "" {
			return false
		}
	}
	return true
}

// agrees compares the local header of an entry with the central directory,
// because other programs read the local header.
func (b *Bundle) agrees(f *zip.File) error {
	at, err := f.DataOffset()
	if err != nil {
		return badBundle("the header of %s cannot be read", "无法读取 %s 的头部", Show(f.Name))
	}
	const fixed, most = 30, 4096
	room := min(at, int64(fixed+len(f.Name)+most))
	head := make([]byte, room)
	if _, err := b.file.ReadAt(head, at-room); err != nil {
		return badBundle("the header of %s cannot be read", "无法读取 %s 的头部", Show(f.Name))
	}
	for extra := 0; fixed+len(f.Name)+extra <= len(head); extra++ {
		h := head[len(head)-fixed-len(f.Name)-extra:]
		if binary.LittleEndian.Uint32(h) != 0x04034b50 || int(binary.LittleEndian.Uint16(h[28:])) != extra || int(binary.LittleEndian.Uint16(h[26:])) != len(f.Name) {
			continue
		}
		streamed := f.Flags&8 != 0 // sizes follow the data
		packed, size := binary.LittleEndian.Uint32(h[18:]), binary.LittleEndian.Uint32(h[22:])
		if string(h[fixed:fixed+len(f.Name)]) == f.Name && binary.LittleEndian.Uint16(h[8:]) == f.Method &&
			(streamed || packed == uint32(f.CompressedSize64) && size == uint32(f.UncompressedSize64)) {
			return nil
		}
		break
	}
	return badBundle("the two headers of %s do not agree", "%s 的两处头部不一致", Show(f.Name))
}
