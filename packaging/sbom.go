package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A part is third-party code in the program: a Go module, or a package of the
// console's page.
type part struct {
	name, version, purl, dir string
}

// parts returns the modules that any platform links, the standard library, and
// the packages that the page bundles.
func (r *release) parts() ([]part, error) {
	found := map[string]part{}
	for _, t := range targets {
		cmd := exec.Command("go", "list", "-deps", "-json=Module,Standard", ".")
		cmd.Dir = r.root
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.goos, "GOARCH="+t.goarch)
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go list for %s: %w", t, err)
		}
		dec := json.NewDecoder(bytes.NewReader(out))
		for {
			var p struct {
				Module *struct {
					Path, Version, Dir string
					Main               bool
				}
			}
			if err := dec.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, err
			}
			if m := p.Module; m != nil && !m.Main {
				found[m.Path] = part{m.Path, m.Version, "pkg:golang/" + m.Path + "@" + m.Version, m.Dir}
			}
		}
	}
	version, root, err := toolchain()
	if err != nil {
		return nil, err
	}
	found["Go"] = part{"Go", version, "pkg:golang/std@" + strings.TrimPrefix(version, "go"), root}
	if err := r.pageParts(found); err != nil {
		return nil, err
	}
	var list []part
	for _, p := range found {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b part) int { return strings.Compare(a.purl, b.purl) })
	return list, nil
}

func toolchain() (version, root string, err error) {
	out, err := exec.Command("go", "env", "GOVERSION", "GOROOT").Output()
	if err != nil {
		return "", "", err
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[0], lines[1], nil
}

// pageParts adds the packages that the page bundles: those of its lock file
// that are not for development.
func (r *release) pageParts(found map[string]part) error {
	ui := filepath.Join(r.root, "internal/web/ui")
	data, err := os.ReadFile(filepath.Join(ui, "package-lock.json"))
	if err != nil {
		return err
	}
	var lock struct {
		Packages map[string]struct {
			Version       string
			Dev, Optional bool
		}
	}
	if err := json.Unmarshal(data, &lock); err != nil {
		return err
	}
	for path, p := range lock.Packages {
		if n, ok := strings.CutPrefix(path, "node_modules/"); ok && !p.Dev && !p.Optional {
			found["npm:"+n] = part{n, p.Version, "pkg:npm/" + strings.Replace(n, "@", "%40", 1) + "@" + p.Version, filepath.Join(ui, path)}
		}
	}
	return nil
}

var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// notices returns the licences of all parts. A part without a licence stops the
// release.
func (r *release) notices() ([]byte, error) {
	parts, err := r.parts()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s contains the following works of others, under the licences that follow each.\n", name)
	for _, p := range parts {
		entries, err := os.ReadDir(p.dir)
		if err != nil {
			return nil, fmt.Errorf("the files of %s: %w", p.name, err)
		}
		found := false
		for _, e := range entries {
			if e.IsDir() || !licenceFile.MatchString(e.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(p.dir, e.Name()))
			if err != nil {
				return nil, err
			}
			found = true
			fmt.Fprintf(&out, "\n%s\n%s %s: %s\n\n%s\n", strings.Repeat("-", 80), p.name, p.version, e.Name(), bytes.TrimSpace(text))
		}
		if !found {
			return nil, fmt.Errorf("%s has no licence in %s", p.name, p.dir)
		}
	}
	return out.Bytes(), nil
}

// sbom writes the software bill of materials in CycloneDX format.
func (r *release) sbom() error {
	parts, err := r.parts()
	if err != nil {
		return err
	}
	type component struct {
		Type    string `json:"type"`
		Ref     string `json:"bom-ref,omitempty"`
		Name    string `json:"name"`
		Version string `json:"version"`
		PURL    string `json:"purl"`
	}
	var list []component
	for _, p := range parts {
		list = append(list, component{"library", p.purl, p.name, p.version, p.purl})
	}
	self := component{"application", "pkg:generic/" + name + "@" + version, name, version, "pkg:generic/" + name + "@" + version}
	var refs []string
	for _, c := range list {
		refs = append(refs, c.Ref)
	}
	data, err := json.MarshalIndent(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"metadata":     map[string]any{"timestamp": r.at.Format(time.RFC3339), "component": self},
		"components":   list,
		"dependencies": []map[string]any{{"ref": self.Ref, "dependsOn": refs}},
	}, "", "  ")
	if err != nil {
		return err
	}
	return r.put(name+"-"+version+".cdx.json", append(data, '\n'))
}
