package kernels

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A source is a suite of an archive of packages.
type source struct{ url, suite string }

var (
	bullseye  = source{"http://deb.debian.org/debian", "bullseye"}
	bookworm  = source{"http://deb.debian.org/debian-security", "bookworm-security"}
	trixie    = source{"http://deb.debian.org/debian-security", "trixie-security"}
	backports = source{"http://deb.debian.org/debian", "trixie-backports"}
	jammy     = source{"http://archive.ubuntu.com/ubuntu", "jammy-updates"}
	noble     = source{"http://archive.ubuntu.com/ubuntu", "noble-updates"}
)

// get returns the body of an address.
func get(ctx context.Context, url string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, fmt.Errorf("%s: %s", url, resp.Status)
	}
	return resp.Body, nil
}

var digits = regexp.MustCompile(`[0-9]+`)

// order makes the numbers in a name sort like numbers.
func order(name string) string {
	return digits.ReplaceAllStringFunc(name, func(n string) string { return fmt.Sprintf("%012s", n) })
}

// newest returns the address of the newest package whose name matches.
func (s source) newest(ctx context.Context, arch string, name *regexp.Regexp) (string, error) {
	body, err := get(ctx, s.url+"/dists/"+s.suite+"/main/binary-"+arch+"/Packages.xz")
	if err != nil {
		return "", err
	}
	defer body.Close()
	xz := exec.CommandContext(ctx, "xz", "-dc")
	xz.Stdin = body
	plain, err := xz.Output()
	if err != nil {
		return "", err
	}
	var best, pack, file string
	lines := bufio.NewScanner(bytes.NewReader(plain))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), ": ")
		switch key {
		case "Package":
			pack = value
		case "Filename":
			if name.MatchString(pack) && cmp.Compare(order(pack), order(best)) > 0 {
				best, file = pack, value
			}
		}
	}
	if file == "" && lines.Err() == nil {
		return "", fmt.Errorf("%s has no package for %s", s.suite, name)
	}
	return s.url + "/" + file, lines.Err()
}

// unpack downloads a package, unless an earlier run has, and returns the folder of
// its files.
func unpack(t *testing.T, url string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "mcp-all-in-one-kernels", strings.TrimSuffix(filepath.Base(url), ".deb"))
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	body, err := get(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	deb := filepath.Join(t.TempDir(), "deb")
	f, err := os.Create(deb)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(f, body); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir+".part", 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "dpkg-deb", "-x", deb, dir+".part").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.Rename(dir+".part", dir); err != nil {
		t.Fatal(err)
	}
	return dir
}
