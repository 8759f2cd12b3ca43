package install

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/lazy"
	"mcp-all-in-one/internal/safehttp"
)

// Engines are the programs that run images, in the order of preference. Both
// understand the arguments that a plan writes.
var Engines = []string{"docker", "podman"}

// dockerHub is the registry of names without a host; images there are fetched
// from another host.
const dockerHub, dockerHubAPI = "docker.io", "https://registry-1.docker.io"

// imageName is the grammar of an image with its host: HOST/PATH[:TAG][@DIGEST].
var imageName = lazy.Regexp(`^([a-z0-9.-]+(?::[0-9]+)?)/([a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*)(?::([A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(?:@(sha256:[a-f0-9]{64}))?$`)

// An Image is the reference of a container image.
type Image struct {
	Host, Path, Tag, Digest string
}

// imagePrefix marks a word that is the name of an image. Names of images and of
// registry entries look alike, so an image is never guessed.
const imagePrefix = "docker:"

// IsImage reports whether a word names an image: docker:NAME[:TAG][@DIGEST].
func IsImage(word string) bool { return strings.HasPrefix(word, imagePrefix) }

// NewImage parses the name of an image that a person typed. Without a tag it is the
// one that engines take. Pin says what that is today.
func NewImage(word string) (*Image, error) {
	im, err := imageNamed(strings.TrimPrefix(word, imagePrefix))
	if err == nil && im.Tag == "" && im.Digest == "" {
		im.Tag = "latest"
	}
	return im, err
}

func imageNamed(id string) (*Image, error) {
	// text is the name with the host, which engines may leave out.
	text := id
	if host, _, ok := strings.Cut(text, "/"); !ok || !strings.ContainsAny(host, ".:") && host != "localhost" {
		text = dockerHub + "/" + text
	}
	m := imageName().FindStringSubmatch(text)
	if m == nil || len(text) > 512 {
		return nil, fail(env.CodeRecord, "%s is not a name of an image: refused", "%s 不是镜像名：已拒绝", Show(id))
	}
	im := &Image{Host: m[1], Path: m[2], Tag: m[3], Digest: m[4]}
	if im.Host == dockerHub && !strings.Contains(im.Path, "/") {
		im.Path = "library/" + im.Path
	}
	return im, nil
}

func parseImage(pk pack) (*Image, error) {
	im, err := imageNamed(pk.ID)
	if err != nil {
		return nil, err
	}
	if im.Tag == "" && im.Digest == "" { // older records have the tag in the version
		im.Tag = pk.Version
	}
	// A tag without a version is another image tomorrow.
	if im.Digest == "" && (im.Tag == "latest" || !imageName().MatchString(im.String())) {
		return nil, fail(env.CodeRecord, "%s is not an exact version of an image: refused", "%s 不是镜像的确切版本：已拒绝", Show(im.String()))
	}
	return im, nil
}

// Name returns the name with the tag, if there is one.
func (im *Image) Name() string {
	name := im.Host + "/" + im.Path
	if im.Tag != "" {
		name += ":" + im.Tag
	}
	return name
}

// Version returns the tag and the digest.
func (im *Image) Version() string { return strings.TrimSpace(im.Tag + " " + im.Digest) }

// Run returns the entry that runs the image with variables and arguments that a
// person typed.
func (im *Image) Run(engine string, variables map[string]string, args []string) *Entry {
	e := &Entry{Command: engine, Args: []string{"run", "-i", "--rm"}, Env: variables, Origin: &config.Origin{Image: im.Name()}, container: true}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		e.Args = append(e.Args, "-e", name)
	}
	e.Args = append(append(e.Args, im.String()), args...)
	return e
}

// In returns an entry that runs the image in place of the one of the same name.
func (im *Image) In(e Entry) *Entry {
	e.Args, e.container = slices.Clone(e.Args), true
	for i, a := range e.Args {
		if name, _, ok := strings.Cut(a, "@"); ok && name == im.Host+"/"+im.Path {
			e.Args[i] = im.String()
		}
	}
	e.Origin = &config.Origin{Image: im.Name()}
	return &e
}

// String returns the image as an engine is told: by its digest, if that is
// known. The tag then has no effect.
func (im *Image) String() string {
	name := im.Host + "/" + im.Path
	if im.Digest != "" {
		return name + "@" + im.Digest
	}
	return name + ":" + im.Tag
}

// PinnedIn takes the digest from the arguments of an entry that runs the image.
func (im *Image) PinnedIn(args []string) {
	for _, a := range args {
		if digest, ok := strings.CutPrefix(a, im.Host+"/"+im.Path+"@"); ok && digestText().MatchString(digest) {
			im.Digest = digest
		}
	}
}

// Pin asks the registry of the image for the digest of its tag, with the
// credentials that the engines have for that registry. bases are the addresses of
// configured registries, which may be on this machine or a private network; all
// others are public.
func (im *Image) Pin(ctx context.Context, bases []string) error {
	if im.Digest != "" {
		return nil
	}
	base, client := "https://"+im.Host, safehttp.NewClient(safehttp.Options{})
	if im.Host == dockerHub {
		base = dockerHubAPI
	}
	for _, b := range bases {
		if u, err := url.Parse(b); err == nil && u.Host == im.Host && (u.Scheme == "https" || config.IsLoopback(u.Hostname())) {
			base, client = u.Scheme+"://"+u.Host, safehttp.NewConfigured(safehttp.Timeout)
		}
	}
	defer client.CloseIdleConnections()
	digest, err := im.digest(ctx, client, base)
	if err != nil {
		return fail(env.CodeRegistry, "the digest of %s cannot be had from its registry: %v", "无法从镜像仓库取得 %s 的摘要：%v", im, i18n.Why(err))
	}
	im.Digest = digest
	return nil
}

var digestText = lazy.Regexp(`^sha256:[a-f0-9]{64}$`)

func (im *Image) digest(ctx context.Context, client *http.Client, base string) (string, error) {
	resp, err := im.head(ctx, client, base, "")
	if err == nil && resp.StatusCode == http.StatusUnauthorized { // also public images need a token
		var authorization string
		if authorization, err = im.authorize(ctx, client, resp.Header.Get("WWW-Authenticate")); err == nil {
			resp, err = im.head(ctx, client, base, authorization)
		}
	}
	if err != nil {
		return "", err
	}
	digest := resp.Header.Get("Docker-Content-Digest")
	switch {
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return "", wantsLogin(im.Host, resp.Status)
	case resp.StatusCode != http.StatusOK:
		return "", i18n.Errorf("it answered %s", "它的应答是 %s", resp.Status)
	case !digestText().MatchString(digest):
		return "", i18n.Errorf("it does not say the digest", "它没有给出摘要")
	}
	return digest, nil
}

// head asks for the manifest of the tag.
func (im *Image) head(ctx context.Context, client *http.Client, base, authorization string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, base+"/v2/"+im.Path+"/manifests/"+im.Tag, nil)
	if err != nil {
		return nil, err
	}
	for _, kind := range []string{"application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json",
		"application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json"} {
		req.Header.Add("Accept", kind)
	}
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	resp, err := client.Do(req)
	if err == nil {
		resp.Body.Close()
	}
	return resp, err
}

var challengePart = lazy.Regexp(`([a-z]+)="([^"]*)"`)

// wantsLogin says how a person gives the engines credentials for a registry.
func wantsLogin(host, status string) error {
	return i18n.Errorf("it answered %s: sign in with docker login %s, or podman login %[2]s", "它的应答是 %s：请用 docker login %s 或 podman login %[2]s 登录", status, host)
}

// authorize returns the authorization that a registry asks for: the credentials
// themselves, or a token, which some registries also give without credentials.
func (im *Image) authorize(ctx context.Context, client *http.Client, challenge string) (string, error) {
	c, err := credentialsFor(ctx, im.Host)
	if err != nil {
		return "", err
	}
	scheme, rest, _ := strings.Cut(challenge, " ")
	switch {
	case strings.EqualFold(scheme, "basic") && c.user != "":
		return c.basic(), nil
	case !strings.EqualFold(scheme, "bearer"):
		return "", wantsLogin(im.Host, "401")
	}
	said := map[string]string{}
	for _, m := range challengePart().FindAllStringSubmatch(rest, -1) {
		said[m[1]] = m[2]
	}
	u, err := url.Parse(said["realm"])
	if err != nil || u.Host == "" || u.Scheme != "https" && !config.IsLoopback(u.Hostname()) {
		return "", i18n.Errorf("it gives tokens at %s, which is not an https address", "它在 %s 发放令牌，而这不是 https 地址", Show(said["realm"]))
	}
	form := url.Values{"service": {said["service"]}, "scope": {"repository:" + im.Path + ":pull"}}
	method, body := http.MethodGet, io.Reader(nil)
	if c.token == "" {
		u.RawQuery = form.Encode()
	} else {
		form.Set("grant_type", "refresh_token")
		form.Set("refresh_token", c.token)
		form.Set("client_id", "mcp-all-in-one")
		method, body = http.MethodPost, strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return "", err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	} else if c.user != "" {
		req.Header.Set("Authorization", c.basic())
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var answer struct {
		Token string `json:"token"`
		Other string `json:"access_token"` // some registries write only this
	}
	if resp.StatusCode != http.StatusOK {
		return "", wantsLogin(im.Host, resp.Status)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxRecord)).Decode(&answer); err != nil {
		return "", err
	}
	return "Bearer " + cmp.Or(answer.Token, answer.Other), nil
}

// image plans a container: what the person answers goes in by variables and
// mounts, and nothing else of the machine does.
func (p *Plan) image(pk pack, o PlanOptions) error {
	p.Program = Engines[max(0, slices.IndexFunc(Engines, o.Can))]
	if o.Engine != nil {
		p.Program = cmp.Or(o.Engine(), p.Program)
	}
	p.command = p.Program
	if base := strings.TrimSuffix(pk.Base, "/"); base != "" && base != "https://"+dockerHub {
		return fail(env.CodeRecord, "the image names the base %s apart from its name: refused", "镜像在名称之外另有来源 %s：已拒绝", Show(pk.Base))
	}
	var err error
	if p.Image, err = parseImage(pk); err != nil {
		return err
	}
	p.text("run", "-i", "--rm")
	p.variables = len(p.args)
	for _, a := range pk.Runtime {
		if err := p.engineArgument(a); err != nil {
			return err
		}
	}
	p.args = append(p.args, part{image: p.Image})
	if err := p.inputs(pk); err != nil {
		return err
	}
	for _, s := range p.env {
		if engineSteering().MatchString(s.name) {
			return fail(env.CodeSteers, "sets %s, which decides where %s runs images: refused", "设置了 %s，它决定 %s 在何处运行镜像：已拒绝", s.name, p.Program)
		}
	}
	return nil
}

// engineSteering are the variables that the engines read themselves. The values
// of a server's variables pass through the engine's environment, so that no
// secret is in its command line.
var engineSteering = lazy.Regexp(`(?i)^(DOCKER|PODMAN|CONTAINER|CONTAINERS|BUILDAH|REGISTRY|STORAGE|SSH|NETAVARK)_|^_CONTAINERS_|^DBUS_`)

const imageVariable = `\{([A-Za-z0-9_.-]+)\}`

// The forms of mounts: what is mounted is one answer of the person.
var (
	mountForm  = lazy.Regexp(`^type=bind,(?:src|source)=` + imageVariable + `,(?:dst|target|destination)=(?:/[^,{}]*|` + imageVariable + `)(?:,readonly|,ro)?$`)
	volumeForm = lazy.Regexp(`^` + imageVariable + `:(?:/[^:,{}]*|` + imageVariable + `)(?::ro|:rw)?$`)
)

// engineArgument plans an argument of the engine. Most of them open the machine
// to the image, so only variables and mounts are taken.
func (p *Plan) engineArgument(a argument) error {
	switch a.Name {
	case "-e", "--env":
		name, value, ok := strings.Cut(a.Value, "=")
		if a.Type != "named" || !ok {
			break
		}
		a.Value = value
		return p.variable(name, a.input)
	case "-v", "--volume", "--mount":
		form := volumeForm
		if a.Name == "--mount" {
			form = mountForm
		}
		m := form().FindStringSubmatch(a.Value)
		if a.Type != "named" || m == nil {
			break
		}
		source, known := a.Variables[m[1]]
		if !known || source.Value != "" {
			break
		}
		// The person names what is mounted: the record proposes nothing.
		source.Format, source.Default, source.Required, source.Choices, source.Secret = "filepath", "", true, nil, false
		a.Variables[m[1]] = source
		for _, v := range a.Variables {
			if strings.ContainsAny(v.Value+v.Default, ",:") {
				return fail(env.CodeRecord, "the place %s of a mount has a comma or colon: refused", "挂载位置 %s 含有逗号或冒号：已拒绝", Show(v.Value+v.Default))
			}
		}
		return p.argument(a)
	}
	return fail(env.CodeRecord, "the record sets the argument %s of %s, which opens the machine to the image: refused", "记录设置了 %[2]s 的参数 %[1]s，它会使镜像接触到本机：已拒绝", Show(strings.TrimSpace(a.Name+" "+a.Value)), p.Program)
}

// text adds fixed arguments.
func (p *Plan) text(list ...string) {
	for _, text := range list {
		p.args = append(p.args, part{value: &template{{text: text}}})
	}
}
