package install

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"mcp-all-in-one/internal/folders"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/lazy"
)

// credentials are what docker login and podman login have kept for a registry of
// images. The zero value is for a registry that they do not know.
type credentials struct {
	user, password string
	token          string // used instead of a password, to request other tokens
}

func (c credentials) basic() string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(c.user+":"+c.password))
}

// loginFiles returns the files in which podman and docker keep logins, in the order
// in which they are asked.
func loginFiles() []string {
	home := folders.Home()
	var list []string
	for _, place := range []struct{ dir, file string }{
		{os.Getenv("REGISTRY_AUTH_FILE"), ""},
		{os.Getenv("DOCKER_CONFIG"), "config.json"},
		{os.Getenv("XDG_RUNTIME_DIR"), "containers/auth.json"},
		{home, ".config/containers/auth.json"},
		{home, ".docker/config.json"},
	} {
		if place.dir != "" {
			list = append(list, filepath.Join(place.dir, filepath.FromSlash(place.file)))
		}
	}
	return list
}

// loginFile is the part of such a file about registries.
type loginFile struct {
	Auths map[string]struct {
		Auth          string `json:"auth"`
		IdentityToken string `json:"identitytoken"`
	} `json:"auths"`
	Helpers map[string]string `json:"credHelpers"`
	Store   string            `json:"credsStore"`
}

// credentialsFor returns the credentials of a registry of images.
func credentialsFor(ctx context.Context, host string) (credentials, error) {
	keys := []string{host, "https://" + host}
	if host == dockerHub {
		keys = []string{"https://index.docker.io/v1/", "index.docker.io", dockerHub}
	}
	for _, path := range loginFiles() {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // there is none, or the engine cannot read it either
		}
		var file loginFile
		if err := json.Unmarshal(data, &file); err != nil {
			return credentials{}, i18n.Errorf("reading %s: %w", "读取 %s 失败：%w", path, err)
		}
		for _, key := range keys {
			if c, err := file.find(ctx, key); err != nil || c != (credentials{}) {
				return c, err
			}
		}
	}
	return credentials{}, nil
}

// find returns the credentials for a key of the file.
func (f *loginFile) find(ctx context.Context, key string) (credentials, error) {
	auth, known := f.Auths[key]
	if helper := f.Helpers[key]; helper != "" {
		return askHelper(ctx, helper, key)
	}
	if known && auth.Auth == "" && auth.IdentityToken == "" && f.Store != "" {
		return askHelper(ctx, f.Store, key)
	}
	plain, err := base64.StdEncoding.DecodeString(auth.Auth)
	if err != nil {
		return credentials{}, i18n.Errorf("the login for %s cannot be read: %w", "无法读取 %s 的登录信息：%w", key, err)
	}
	user, password, _ := strings.Cut(string(plain), ":")
	return credentials{user, strings.TrimRight(password, "\x00"), auth.IdentityToken}, nil
}

var helperName = lazy.Regexp(`^[A-Za-z0-9._-]+$`)

// askHelper asks a program of the engines for credentials, as they do.
func askHelper(ctx context.Context, helper, key string) (credentials, error) {
	if !helperName().MatchString(helper) {
		return credentials{}, i18n.Errorf("%s is not a name of a credential helper", "%s 不是凭据助手的名称", Show(helper))
	}
	cmd := exec.CommandContext(ctx, "docker-credential-"+helper, "get")
	cmd.Stdin = strings.NewReader(key)
	out, err := cmd.Output()
	if bytes.Contains(out, []byte("credentials not found")) {
		return credentials{}, nil
	}
	if err != nil {
		return credentials{}, i18n.Errorf("asking docker-credential-%s: %w", "询问 docker-credential-%s 失败：%w", helper, err)
	}
	var said struct{ Username, Secret string }
	if err := json.Unmarshal(out, &said); err != nil {
		return credentials{}, i18n.Errorf("asking docker-credential-%s: %w", "询问 docker-credential-%s 失败：%w", helper, err)
	}
	if said.Username == "<token>" {
		return credentials{token: said.Secret}, nil
	}
	return credentials{user: said.Username, password: said.Secret}, nil
}
