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

// A part is third-party work in the program: a Go module, or a package or a font
// of the console's page.
type part struct {
	name, version, purl string
	dirs                []string // folders that may have licences
}

// parts returns the modules that any platform links, the standard library, and
// the packages that the page bundles.
func (r *release) parts() ([]part, error) {
	found := map[string]part{}
	for _, t := range targets {
		cmd := exec.Command("go", "list", "-deps", "-json=Dir,Module", ".")
		cmd.Dir = r.root
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.goos, "GOARCH="+t.goarch)
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go list for %s: %w", t, err)
		}
		dec := json.NewDecoder(bytes.NewReader(out))
		for {
			var p struct {
				Dir    string
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
				known, ok := found[m.Path]
				if !ok {
					known = part{m.Path, m.Version, "pkg:golang/" + m.Path + "@" + m.Version, []string{m.Dir}}
				}
				// A package that was copied into a module has a licence of its own.
				for dir := p.Dir; len(dir) > len(m.Dir) && !slices.Contains(known.dirs, dir); dir = filepath.Dir(dir) {
					known.dirs = append(known.dirs, dir)
				}
				found[m.Path] = known
			}
		}
	}
	version, root, err := toolchain()
	if err != nil {
		return nil, err
	}
	found["Go"] = part{"Go", version, "pkg:golang/std@" + strings.TrimPrefix(version, "go"), []string{root}}
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
			found["npm:"+n] = part{n, p.Version, "pkg:npm/" + strings.Replace(n, "@", "%40", 1) + "@" + p.Version, []string{filepath.Join(ui, path)}}
		}
	}
	found["fonts"] = part{"the fonts Inter and JetBrains Mono", "", "pkg:generic/fonts", []string{filepath.Join(ui, "src/fonts")}}
	return nil
}

var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|ofl)([.-].*)?$`)

// notices returns the licences of all parts, each text once. A part without a
// licence stops the release.
func (r *release) notices() ([]byte, error) {
	parts, err := r.parts()
	if err != nil {
		return nil, err
	}
	var texts []string
	of := map[string][]string{} // the works that a text is for
	for _, p := range parts {
		found := 0
		for _, dir := range p.dirs {
			entries, err := os.ReadDir(dir)
			if err != nil {
				return nil, fmt.Errorf("the files of %s: %w", p.name, err)
			}
			for _, e := range entries {
				if e.IsDir() || !licenceFile.MatchString(e.Name()) {
					continue
				}
				data, err := os.ReadFile(filepath.Join(dir, e.Name()))
				if err != nil {
					return nil, err
				}
				text, work := strings.TrimSpace(string(data)), strings.TrimSpace(p.name+" "+p.version)
				if of[text] == nil {
					texts = append(texts, text)
				}
				if !slices.Contains(of[text], work) {
					of[text] = append(of[text], work)
				}
				found++
			}
		}
		if found == 0 {
			return nil, fmt.Errorf("%s has no licence in %s", p.name, p.dirs[0])
		}
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s contains the following works of others, under the licences that follow their names.\n", name)
	for _, text := range texts {
		fmt.Fprintf(&out, "\n%s\n%s\n\n%s\n", strings.Repeat("-", 80), strings.Join(of[text], "\n"), text)
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
		Version string `json:"version,omitempty"`
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
