package main

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

//go:embed oci/config.json
var imageConfig []byte

// nonroot is the user id of the image. Other images use the same number.
const nonroot = 65532

const (
	mediaIndex    = "application/vnd.oci.image.index.v1+json"
	mediaManifest = "application/vnd.oci.image.manifest.v1+json"
	mediaConfig   = "application/vnd.oci.image.config.v1+json"
	mediaLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// A descriptor names a blob of a layout.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    map[string]string `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// A layout is an OCI image layout, as every registry tool reads it.
type layout struct{ files []file }

func (l *layout) blob(media string, data []byte) descriptor {
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])
	l.files = append(l.files, file{name: "blobs/sha256/" + digest, mode: 0o644, data: data})
	return descriptor{MediaType: media, Digest: "sha256:" + digest, Size: len(data)}
}

func (l *layout) json(media string, value any) (descriptor, error) {
	data, err := json.Marshal(value)
	return l.blob(media, data), err
}

// images writes one layout with the images of both architectures.
func (r *release) images() error {
	roots, err := r.roots()
	if err != nil {
		return err
	}
	l := &layout{files: []file{{name: "oci-layout", mode: 0o644, data: []byte(`{"imageLayoutVersion":"1.0.0"}`)}}}
	var manifests []descriptor
	for _, t := range targets {
		if t.goos != "linux" || t.goarch != "amd64" && t.goarch != "arm64" {
			continue
		}
		d, err := r.imageOf(l, t, roots)
		if err != nil {
			return err
		}
		manifests = append(manifests, d)
	}
	index := map[string]any{"schemaVersion": 2, "mediaType": mediaIndex, "manifests": manifests}
	whole, err := l.json(mediaIndex, index)
	if err != nil {
		return err
	}
	whole.Annotations = map[string]string{"org.opencontainers.image.ref.name": version}
	top, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": mediaIndex, "manifests": []descriptor{whole}})
	if err != nil {
		return err
	}
	l.files = append(l.files, file{name: "index.json", mode: 0o644, data: top})
	data, err := tarOf(l.files, r.at)
	if err != nil {
		return err
	}
	return r.put("image/"+name+"-"+version+".oci.tar", data)
}

// imageOf adds the image of one architecture.
func (r *release) imageOf(l *layout, t target, roots []byte) (descriptor, error) {
	layer, err := tarOf(r.imageFiles(t, roots), r.at)
	if err != nil {
		return descriptor{}, err
	}
	packed, err := gzipOf(layer)
	if err != nil {
		return descriptor{}, err
	}
	sum := sha256.Sum256(layer)
	config, err := l.json(mediaConfig, r.imageSettings(t, "sha256:"+hex.EncodeToString(sum[:])))
	if err != nil {
		return descriptor{}, err
	}
	d, err := l.json(mediaManifest, map[string]any{
		"schemaVersion": 2, "mediaType": mediaManifest, "config": config, "layers": []descriptor{l.blob(mediaLayer, packed)},
	})
	d.Platform = map[string]string{"os": t.goos, "architecture": t.goarch}
	return d, err
}

// imageFiles returns the whole file system of the image.
func (r *release) imageFiles(t target, roots []byte) []file {
	files := []file{
		{name: "tmp/", mode: 0o777 | fs.ModeSticky},
		{name: "var/lib/" + name + "/", mode: 0o700, uid: nonroot},
		{name: "etc/passwd", mode: 0o644, data: fmt.Appendf(nil, "nonroot:x:%d:%d::/var/lib/%s:/sbin/nologin\n", nonroot, nonroot, name)},
		{name: "etc/group", mode: 0o644, data: fmt.Appendf(nil, "nonroot:x:%d:\n", nonroot)},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: roots},
		{name: "etc/" + name + "/config.json", mode: 0o644, data: imageConfig},
		{name: "usr/bin/" + name, mode: 0o755, data: r.binaries[t.String()]},
	}
	for _, n := range oldNames {
		files = append(files, file{name: "usr/bin/" + n, mode: 0o777, link: name})
	}
	return append(files, under("usr/share/doc/"+name, r.common)...)
}

// imageSettings returns the configuration of the image.
func (r *release) imageSettings(t target, layer string) map[string]any {
	state := "/var/lib/" + name
	return map[string]any{
		"created": r.at.Format(time.RFC3339), "architecture": t.goarch, "os": t.goos,
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{layer}},
		"history": []map[string]any{{"created": r.at.Format(time.RFC3339), "created_by": name}},
		"config": map[string]any{
			"User":         fmt.Sprintf("%d:%d", nonroot, nonroot),
			"Env":          []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + state, "XDG_STATE_HOME=/var/lib", "MCP_AIO_CONFIG=/etc/" + name + "/config.json"},
			"Entrypoint":   []string{"/usr/bin/" + name},
			"Cmd":          []string{"http", "--host", "0.0.0.0"},
			"WorkingDir":   state,
			"ExposedPorts": map[string]any{"3095/tcp": map[string]any{}},
			"Volumes":      map[string]any{state: map[string]any{}},
			"StopSignal":   "SIGTERM",
			"Healthcheck": map[string]any{
				"Test": []string{"CMD", "/usr/bin/" + name, "status", "--running"}, "Interval": 30 * time.Second, "Timeout": 5 * time.Second, "StartPeriod": 10 * time.Second, "Retries": 3,
			},
			"Labels": map[string]string{
				"org.opencontainers.image.title": name, "org.opencontainers.image.description": summary, "org.opencontainers.image.source": home,
				"org.opencontainers.image.version": version, "org.opencontainers.image.licenses": licence,
				"io.modelcontextprotocol.server.name": registryName,
			},
		},
	}
}

// roots returns Mozilla's certificate authorities, as certifi publishes them.
func (r *release) roots() ([]byte, error) {
	out, err := exec.Command(filepath.Join(r.tools, "bin", "python"), "-m", "certifi").Output()
	if err != nil {
		return nil, fmt.Errorf("asking certifi: %w", err)
	}
	return os.ReadFile(strings.TrimSpace(string(out)))
}
