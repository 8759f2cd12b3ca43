package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"io/fs"
	"path"
	"slices"
	"strings"
	"text/template"
)

// manifestFiles are files for package managers. They are templates that use the
// checksums of a release.
//
//go:embed all:manifests
var manifestFiles embed.FS

// manifests writes the files for other package managers and the registry.
func (r *release) manifests() error { return r.fill(manifestFiles, "manifests") }

// deployFiles are the Helm chart, the compose files, the plain manifests, and the
// image with Node and uv.
//
//go:embed all:deploy
var deployFiles embed.FS

func (r *release) deploy() error {
	if err := r.fill(deployFiles, "deploy"); err != nil {
		return err
	}
	files, err := r.filled(deployFiles, "deploy/chart")
	if err != nil {
		return err
	}
	for i := range files {
		files[i].name = name + strings.TrimPrefix(files[i].name, "deploy/chart")
	}
	data, err := tarGzOf(files, r.at)
	if err != nil {
		return err
	}
	return r.put("deploy/"+name+"-chart-"+version+".tgz", data)
}

// fill writes a folder of templates to the release.
func (r *release) fill(from embed.FS, folder string) error {
	files, err := r.filled(from, folder)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := r.put(f.name, f.data); err != nil {
			return err
		}
	}
	return nil
}

// filled executes templates. Their delimiters are [[ and ]], because Helm uses
// {{ and }}.
func (r *release) filled(from embed.FS, folder string) ([]file, error) {
	var files []file
	err := fs.WalkDir(from, folder, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := from.ReadFile(p)
		if err != nil {
			return err
		}
		t, err := template.New(path.Base(p)).Delims("[[", "]]").Option("missingkey=error").Funcs(template.FuncMap{
			"sum": func(name string) (string, error) { return r.sum(name) },
			"SUM": func(name string) (string, error) { s, err := r.sum(name); return strings.ToUpper(s), err },
		}).Parse(string(text))
		if err != nil {
			return err
		}
		var out bytes.Buffer
		if err := t.Execute(&out, map[string]string{
			"Name": name, "Version": version, "Home": home, "Summary": summary, "About": about, "Licence": licence, "Author": author,
			"Registry": registryName, "Image": image, "Date": r.at.Format("2006-01-02"), "Download": home + "/releases/download/v" + version,
		}); err != nil {
			return err
		}
		files = append(files, file{name: p, mode: 0o644, data: out.Bytes()})
		return nil
	})
	return files, err
}

// sum returns the checksum of an artefact of this release.
func (r *release) sum(name string) (string, error) {
	if s, ok := r.sums[name]; ok {
		return s, nil
	}
	if len(r.only) > 0 || len(targets) < 9 {
		return strings.Repeat("0", 64), nil // part of a release, for tests
	}
	return "", fs.ErrNotExist
}

// mcpb packs this program as a bundle for desktop clients, one per platform.
func (r *release) mcpb() error {
	for _, t := range targets {
		os, _, _ := strings.Cut(t.npm, "-")
		if !slices.Contains([]string{"darwin-x64", "darwin-arm64", "win32-x64", "linux-x64", "linux-arm64"}, t.npm) {
			continue
		}
		manifest := map[string]any{
			"manifest_version": "0.3", "name": name, "display_name": "MCP all in one", "version": version, "description": summary, "long_description": about,
			"author": map[string]string{"name": author, "url": home}, "repository": map[string]string{"type": "git", "url": home + ".git"},
			"homepage": home, "license": licence, "keywords": []string{"mcp", "gateway", "proxy"},
			"server": map[string]any{"type": "binary", "entry_point": "server/" + t.program(),
				"mcp_config": map[string]any{"command": "${__dirname}/server/" + t.program(), "args": []string{"stdio"}}},
			"compatibility": map[string]any{"platforms": []string{os}}, "tools_generated": true,
		}
		text, err := json.MarshalIndent(manifest, "", "  ")
		if err != nil {
			return err
		}
		files := append([]file{{name: "manifest.json", mode: 0o644, data: append(text, '\n')},
			{name: "server/" + t.program(), mode: 0o755, data: r.binaries[t.String()]}}, r.common...)
		data, err := zipOf(files, r.at)
		if err != nil {
			return err
		}
		if err := r.put("mcpb/"+name+"-"+version+"-"+t.String()+".mcpb", data); err != nil {
			return err
		}
	}
	return nil
}
