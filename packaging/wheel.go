package main

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
)

// wheels makes one wheel per platform: the binary as a script, without Python
// code.
func (r *release) wheels() error {
	dist := strings.ReplaceAll(name, "-", "_") + "-" + version
	readme := ""
	for _, f := range r.common {
		if f.name == "README.md" {
			readme = string(f.data)
		}
	}
	metadata := fmt.Sprintf("Metadata-Version: 2.4\nName: %s\nVersion: %s\nSummary: %s\nHome-page: %s\nAuthor: %s\nLicense-Expression: %s\nLicense-File: LICENSE\nLicense-File: THIRD_PARTY_NOTICES\n"+
		"Requires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n%s", name, version, summary, home, author, licence, readme)
	for _, t := range targets {
		tag := strings.Join(t.wheels, ".")
		wheel := "Wheel-Version: 1.0\nGenerator: " + name + "\nRoot-Is-Purelib: false\n"
		for _, platform := range t.wheels {
			wheel += "Tag: py3-none-" + platform + "\n"
		}
		files := []file{
			{name: dist + ".data/scripts/" + t.program(), mode: 0o755, data: r.binaries[t.String()]},
			{name: dist + ".dist-info/METADATA", mode: 0o644, data: []byte(metadata)},
			{name: dist + ".dist-info/WHEEL", mode: 0o644, data: []byte(wheel)},
		}
		for _, f := range r.common {
			if f.name != "README.md" {
				files = append(files, file{name: dist + ".dist-info/licenses/" + f.name, mode: 0o644, data: f.data})
			}
		}
		record := ""
		for _, f := range inOrder(files) {
			sum := sha256.Sum256(f.data)
			record += fmt.Sprintf("%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.data))
		}
		record += dist + ".dist-info/RECORD,,\n"
		data, err := zipOf(append(files, file{name: dist + ".dist-info/RECORD", mode: 0o644, data: []byte(record)}), r.at)
		if err != nil {
			return err
		}
		if err := r.put("pypi/"+dist+"-py3-none-"+tag+".whl", data); err != nil {
			return err
		}
	}
	return nil
}
