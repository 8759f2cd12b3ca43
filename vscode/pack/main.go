// Command pack puts the built extension into a .vsix: a zip with a manifest
// that VS Code reads. With a platform and a binary, the program is inside, at
// bin/, and the package is for that platform alone. The same content gives
// the same bytes.
package main

import (
	"archive/zip"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// extension is what we read of package.json.
type extension struct {
	Name, DisplayName, Description, Version, Publisher, Icon string
	Categories, Keywords                                     []string
	Engines                                                  struct{ VSCode string }
}

const types = `<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension=".json" ContentType="application/json"/><Default Extension=".vsixmanifest" ContentType="text/xml"/><Default Extension=".js" ContentType="application/javascript"/><Default Extension=".css" ContentType="text/css"/><Default Extension=".md" ContentType="text/markdown"/><Default Extension=".txt" ContentType="text/plain"/><Default Extension=".png" ContentType="image/png"/><Default Extension=".exe" ContentType="application/octet-stream"/></Types>
`

const manifest = `<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id="%s" Version="%s" Publisher="%s"%s/>
    <DisplayName>%s</DisplayName>
    <Description xml:space="preserve">%s</Description>
    <Tags>%s</Tags>
    <Categories>%s</Categories>
    <Properties><Property Id="Microsoft.VisualStudio.Code.Engine" Value="%s"/><Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value="workspace"/></Properties>
    <License>extension/LICENSE.txt</License>
    <Icon>extension/%s</Icon>
  </Metadata>
  <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.Changelog" Path="extension/CHANGELOG.md" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.License" Path="extension/LICENSE.txt" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Icons.Default" Path="extension/%s" Addressable="true"/>
  </Assets>
</PackageManifest>
`

func main() {
	log.SetFlags(0)
	platform := flag.String("platform", "", "platform of VS Code that the package is for")
	binary := flag.String("binary", "", "program to put inside")
	flag.Parse()
	if flag.NArg() != 2 || (*platform == "") != (*binary == "") {
		log.Fatal("usage: pack [-platform PLATFORM -binary PROGRAM] EXTENSION-FOLDER OUTPUT-FOLDER")
	}
	name, err := pack(flag.Arg(0), flag.Arg(1), *platform, *binary)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(name)
}

func pack(from, to, platform, binary string) (string, error) {
	data, err := os.ReadFile(filepath.Join(from, "package.json"))
	if err != nil {
		return "", err
	}
	var e extension
	if err := json.Unmarshal(data, &e); err != nil {
		return "", err
	}
	files := map[string][]byte{"[Content_Types].xml": []byte(types)}
	name, forPlatform := fmt.Sprintf("%s-%s.vsix", e.Name, e.Version), ""
	if platform != "" {
		name = fmt.Sprintf("%s-%s-%s.vsix", e.Name, platform, e.Version)
		forPlatform = fmt.Sprintf(" TargetPlatform=%q", platform)
		if files["extension/bin/"+filepath.Base(binary)], err = os.ReadFile(binary); err != nil {
			return "", err
		}
	}
	files["extension.vsixmanifest"] = fmt.Appendf(nil, manifest, e.Name, e.Version, e.Publisher, forPlatform, e.DisplayName, e.Description,
		strings.Join(e.Keywords, ","), strings.Join(e.Categories, ","), e.Engines.VSCode, e.Icon, e.Icon)
	for _, part := range []string{"package.json", "README.md", "CHANGELOG.md", "media", "out", "page"} {
		if err := take(files, from, part); err != nil {
			return "", err
		}
	}
	if files["extension/LICENSE.txt"], err = os.ReadFile(filepath.Join(from, "..", "LICENSE")); err != nil {
		return "", err
	}
	if files["extension/THIRD_PARTY_NOTICES.txt"], err = unpack(filepath.Join(from, "../internal/web/dist/THIRD_PARTY_NOTICES.txt.gz")); err != nil {
		return "", fmt.Errorf("%w (make notices writes it)", err)
	}
	name = filepath.Join(to, name)
	return name, write(name, files)
}

// unpack reads a file that is packed with gzip.
func unpack(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// take reads a file or a folder.
func take(files map[string][]byte, root, part string) error {
	return filepath.WalkDir(filepath.Join(root, part), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		files["extension/"+filepath.ToSlash(rel)], err = os.ReadFile(path)
		return err
	})
}

func write(name string, files map[string][]byte) error {
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	defer out.Close()
	z := zip.NewWriter(out)
	names := make([]string, 0, len(files))
	for n := range files {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		h := &zip.FileHeader{Name: n, Method: zip.Deflate, Modified: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)}
		if strings.HasPrefix(n, "extension/bin/") {
			h.SetMode(0o755)
		}
		w, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := w.Write(files[n]); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	return out.Close()
}
