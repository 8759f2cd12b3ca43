package main

import (
	_ "embed"
	"encoding/json"
	"strings"
)

//go:embed npm/launch.js
var launcher []byte

// An npmPackage is a package.json with the fields that we use, in their order.
type npmPackage struct {
	Name                 string            `json:"name"`
	Version              string            `json:"version"`
	Description          string            `json:"description"`
	License              string            `json:"license"`
	Homepage             string            `json:"homepage"`
	Repository           map[string]string `json:"repository"`
	MCPName              string            `json:"mcpName,omitempty"`
	Keywords             []string          `json:"keywords,omitempty"`
	OS                   []string          `json:"os,omitempty"`
	CPU                  []string          `json:"cpu,omitempty"`
	Bin                  map[string]string `json:"bin,omitempty"`
	Engines              map[string]string `json:"engines,omitempty"`
	OptionalDependencies map[string]string `json:"optionalDependencies,omitempty"`
	PreferUnplugged      bool              `json:"preferUnplugged,omitempty"`
}

// npm makes one package per platform that contains only the binary, and one
// that depends on all of them; npm installs the one that fits. No script runs
// at installation.
func (r *release) npm() error {
	basis := npmPackage{Version: version, License: licence, Homepage: home, Repository: map[string]string{"type": "git", "url": "git+" + home + ".git"}}
	whole := basis
	whole.Name, whole.Description, whole.MCPName = name, about, registryName
	whole.Keywords = []string{"mcp", "model-context-protocol", "gateway", "proxy", "tester"}
	whole.Engines = map[string]string{"node": ">=20"}
	whole.Bin, whole.OptionalDependencies = map[string]string{}, map[string]string{}
	files := append([]file{{name: "launch.js", mode: 0o644, data: launcher}}, r.common...)
	for _, command := range append([]string{name}, oldNames...) {
		whole.Bin[command] = "bin/" + command + ".js"
		files = append(files, file{name: "bin/" + command + ".js", mode: 0o755, data: []byte("#!/usr/bin/env node\n\"use strict\";\nrequire(\"../launch.js\")(\"" + command + "\");\n")})
	}
	for _, t := range targets {
		part := basis
		part.Name, part.Description, part.PreferUnplugged = "@"+name+"/"+t.npm, summary+": the program for "+t.npm, true
		os, cpu, _ := strings.Cut(t.npm, "-")
		part.OS, part.CPU = []string{os}, []string{cpu}
		whole.OptionalDependencies[part.Name] = version
		binary := file{name: "bin/" + t.program(), mode: 0o755, data: r.binaries[t.String()]}
		if err := r.npmTarball(name+"-"+t.npm, part, append([]file{binary}, r.common...)); err != nil {
			return err
		}
	}
	return r.npmTarball(name, whole, files)
}

func (r *release) npmTarball(as string, p npmPackage, files []file) error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	files = append([]file{{name: "package.json", mode: 0o644, data: append(text, '\n')}}, files...)
	data, err := tarGzOf(under("package", files), r.at)
	if err != nil {
		return err
	}
	return r.put("npm/"+as+"-"+version+".tgz", data)
}
