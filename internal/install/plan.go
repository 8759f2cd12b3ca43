package install

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/lazy"
	"mcp-all-in-one/internal/safehttp"
)

// The ways in which a server can run, in the order of preference.
const (
	Remote = "remote"
	NPM    = "npm"
	PyPI   = "pypi"
	MCPB   = "mcpb"
	OCI    = "oci"
	NuGet  = "nuget"
)

// Ways lists all ways in that order.
var Ways = []string{Remote, NPM, PyPI, MCPB, OCI, NuGet}

// A Plan is how a server of a registry would run on this machine.
type Plan struct {
	Record *Record
	// Way is one of Ways; Package describes the package.
	Way, Package string
	// Program is the program that must be installed; "" if none.
	Program   string
	Questions []Question
	// Download is the address of a bundle, SHA256 its required hash.
	Download, SHA256 string
	// Image is the image that an engine runs; nil for other ways.
	Image *Image

	variables int // the argument of an engine before which variables are named

	kind    string // type of a remote server
	command string
	args    []part
	env     []setting
	url     template
	headers []setting
}

// A part is one argument: a flag, a value, or both.
type part struct {
	flag     string
	value    *template
	repeated bool
	boolean  bool // only the flag, if the answer is true
	image    *Image
}

type setting struct {
	name  string
	value template
}

// PlanOptions are the inputs of a plan besides the record.
type PlanOptions struct {
	// Way is the choice of the person; "" takes the first way that can run on
	// this machine.
	Way string
	// Can reports whether a program is installed.
	Can func(program string) bool
	// Engine returns the program that runs images, and is called only for an
	// image. Without it the first one that is installed is taken.
	Engine func() string
	// Bases are the addresses of package registries that are trusted in
	// addition to the public ones.
	Bases []string
	// Registry is the address of the registry of the record, whose servers may
	// be at the same host wherever that is. It is empty for the official one.
	Registry string
}

// NewPlan creates a plan from a record. It depends only on its arguments.
func NewPlan(r *Record, o PlanOptions) (*Plan, error) {
	if r.Meta.Official.Status == "deleted" {
		return nil, fail(env.CodeRecord, "%s %s was deleted from its registry: refused", "%s %s 已从注册表中删除：已拒绝", r.Server.Name, r.Server.Version)
	}
	var first error
	for _, way := range Ways {
		if o.Way != "" && o.Way != way {
			continue
		}
		p, err := planWay(r, way, o)
		if err == nil && p != nil && p.Program != "" && !o.Can(p.Program) {
			err = Needs(p.Program)
		}
		if err == nil && p != nil {
			return p, nil
		}
		if first == nil {
			first = err
		}
	}
	switch {
	case first != nil:
		return nil, first
	case o.Way != "":
		return nil, fail(env.CodeRecord, "%s is not offered as %s; available: %s", "%s 没有提供 %s；可用：%s", r.Server.Name, o.Way, strings.Join(r.Offers(), ", "))
	}
	return nil, fail(env.CodeRecord, "%s offers nothing that can be run here; available: %s", "%s 没有提供可在此运行的内容；可用：%s", r.Server.Name, strings.Join(r.Offers(), ", "))
}

// Offers returns the ways in which a record offers its server, in the record's
// own words.
func (r *Record) Offers() []string {
	var list []string
	if len(r.Server.Remotes) > 0 {
		list = append(list, Remote)
	}
	for _, p := range r.Server.Packages {
		if word := Show(p.Type); !slices.Contains(list, word) {
			list = append(list, word)
		}
	}
	return list
}

// Needs returns the error that a program is missing, and where to get it.
func Needs(program string) error {
	where := map[string]string{
		"npx": "https://nodejs.org", "node": "https://nodejs.org",
		"uvx": "https://docs.astral.sh/uv", "uv": "https://docs.astral.sh/uv",
		"docker": "https://docs.docker.com/engine, or podman from https://podman.io",
		"dnx":    "https://dotnet.microsoft.com", "python": "https://www.python.org", "python3": "https://www.python.org",
	}[program]
	return fail(env.CodeNeeds, "needs %s, which is not in PATH: install it from %s", "需要 %s，但 PATH 中没有：请从 %s 安装", program, where)
}

// planWay plans one way. It returns nil if the record does not offer it.
func planWay(r *Record, way string, o PlanOptions) (*Plan, error) {
	if way == Remote {
		for _, t := range r.Server.Remotes {
			return planRemote(r, t, o.Registry)
		}
		return nil, nil
	}
	for _, p := range r.Server.Packages {
		if p.Type == way {
			return planPackage(r, p, o)
		}
	}
	return nil, nil
}

// planRemote plans the use of a remote server. A record may not lead to this
// machine or a private network, unless its registry is at that very host.
func planRemote(r *Record, t transport, registry string) (*Plan, error) {
	p := &Plan{Record: r, Way: Remote, Package: "remote " + Show(t.URL)}
	switch t.Type {
	case "streamable-http":
		p.kind = config.TypeHTTP
	case "sse":
		p.kind = config.TypeSSE
	default:
		return nil, fail(env.CodeRecord, "the transport %s of a remote server is not known: refused", "未知的远程传输方式 %s：已拒绝", Show(t.Type))
	}
	u, err := url.Parse(t.URL)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && !(u.Scheme == "http" && config.IsLoopback(u.Hostname())) || strings.ContainsAny(u.Host, "{}") {
		return nil, fail(env.CodeRecord, "%s is not an https address of a known host: refused", "%s 不是已知主机的 https 地址：已拒绝", Show(t.URL))
	}
	own, _ := url.Parse(registry)
	if why := safehttp.CheckURL("https://"+u.Host, safehttp.Options{}); why != nil && (own == nil || own.Host != u.Host) {
		return nil, fail(env.CodeRecord, "%s: %v; a server on this machine or in a private network is added by its URL: add NAME URL",
			"%s：%v；本机或专用网络中的服务器请用其 URL 添加：add NAME URL", Show(t.URL), i18n.Why(why))
	}
	if p.url, err = p.template(input{Value: t.URL, Variables: t.Variables}, KindArg, ""); err != nil {
		return nil, err
	}
	for _, h := range t.Headers {
		if !headerName().MatchString(h.Name) {
			return nil, fail(env.CodeRecord, "%s is not a name of a header: refused", "%s 不是请求头名称：已拒绝", Show(h.Name))
		}
		v, err := p.template(h.input, KindHeader, h.Name)
		if err != nil {
			return nil, err
		}
		p.headers = append(p.headers, setting{h.Name, v})
	}
	return p, nil
}

var headerName = lazy.Regexp("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// The grammars of identifiers and versions. A text that is not an exact version
// of one package of a registry could be a path, an address or a range.
var (
	npmName     = lazy.Regexp(`^(@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~][a-z0-9._~-]*$`)
	npmVersion  = lazy.Regexp(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
	pypiName    = lazy.Regexp(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	pypiVersion = lazy.Regexp(`^(\d+!)?\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?(\+[a-z0-9]+([._-][a-z0-9]+)*)?$`)
	sha256Text  = lazy.Regexp(`^[a-f0-9]{64}$`)
	nugetName   = lazy.Regexp(`^[A-Za-z0-9_]+([.-][A-Za-z0-9_]+)*$`)
)

// runners are the package registries whose packages a program can run by name.
var runners = map[string]struct {
	program       string
	name, version func() *regexp.Regexp
	bases         []string
	base          string // the variable that sets another base
	args          func(p pack) []string
}{
	NPM: {"npx", npmName, npmVersion, []string{"https://registry.npmjs.org"}, "npm_config_registry",
		func(p pack) []string { return []string{"-y", p.ID + "@" + p.Version} }},
	PyPI: {"uvx", pypiName, pypiVersion, []string{"https://pypi.org", "https://pypi.org/simple"}, "UV_DEFAULT_INDEX",
		func(p pack) []string { return []string{p.ID + "==" + p.Version} }},
	NuGet: {"dnx", nugetName, npmVersion, []string{"https://api.nuget.org", "https://api.nuget.org/v3/index.json"}, "",
		func(p pack) []string { return []string{p.ID + "@" + p.Version, "--yes", "--"} }},
}

// WayOf returns the way whose packages a program runs, or "" for another
// program.
func WayOf(program string) string {
	for way, run := range runners {
		if run.program == program {
			return way
		}
	}
	if slices.Contains(Engines, program) {
		return OCI
	}
	return ""
}

func planPackage(r *Record, pk pack, o PlanOptions) (*Plan, error) {
	p := &Plan{Record: r, Way: pk.Type, Package: strings.TrimSpace(pk.Type + " " + Show(pk.ID) + " " + Show(pk.Version))}
	if pk.Transport.Type != "" && pk.Transport.Type != "stdio" {
		return nil, fail(env.CodeRecord, "%s wants to listen on a port; start it yourself and add its URL", "%s 要监听端口；请自行启动并添加其 URL", r.Server.Name)
	}
	switch pk.Type {
	case OCI:
		return p, p.image(pk, o)
	case MCPB:
		return p, p.bundle(pk)
	}
	run := runners[pk.Type]
	if len(pk.Runtime) > 0 {
		return nil, fail(env.CodeRecord, "the record sets arguments of %s itself: refused", "记录设置了 %s 自身的参数：已拒绝", run.program)
	}
	if !run.name().MatchString(pk.ID) || len(pk.ID) > 214 {
		return nil, fail(env.CodeRecord, "%s is not the name of a package of %s: refused", "%s 不是 %s 包名：已拒绝", Show(pk.ID), pk.Type)
	}
	if !run.version().MatchString(pk.Version) {
		return nil, fail(env.CodeRecord, "%s is not an exact version of a package of %s: refused", "%s 不是 %s 包的确切版本：已拒绝", Show(pk.Version), pk.Type)
	}
	if base := strings.TrimSuffix(pk.Base, "/"); base != "" && !slices.Contains(run.bases, base) {
		if !slices.Contains(o.Bases, base) || run.base == "" {
			return nil, fail(env.CodeRecord, "the package comes from %s, which is neither the public registry nor listed under registries: refused", "软件包来自 %s，它既不是公共注册表，也没有列在 registries 中：已拒绝", Show(pk.Base))
		}
		p.env = append(p.env, setting{run.base, template{{text: base}}})
	}
	p.Program, p.command = run.program, run.program
	p.text(run.args(pk)...)
	return p, p.inputs(pk)
}

// bundle plans the download of a bundle. Its manifest has the rest.
func (p *Plan) bundle(pk pack) error {
	u, err := url.Parse(pk.ID)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
		return fail(env.CodeRecord, "%s is not an https address of a bundle: refused", "%s 不是安装包的 https 地址：已拒绝", Show(pk.ID))
	}
	if !sha256Text().MatchString(pk.SHA256) {
		return fail(env.CodeRecord, "the record does not say the SHA-256 of the bundle: refused", "记录没有给出安装包的 SHA-256：已拒绝")
	}
	p.Download, p.SHA256 = pk.ID, pk.SHA256
	return nil
}

var argName = lazy.Regexp(`^-{0,2}[A-Za-z0-9][A-Za-z0-9._-]*$`)

// inputs plans the arguments and the environment of a package.
func (p *Plan) inputs(pk pack) error {
	for _, a := range pk.Args {
		if err := p.argument(a); err != nil {
			return err
		}
	}
	for _, e := range pk.Env {
		if err := p.variable(e.Name, e.input); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plan) argument(a argument) error {
	id := strings.TrimLeft(a.Name, "-")
	one := part{repeated: a.Repeated}
	switch a.Type {
	case "positional":
		if id = a.Hint; id == "" {
			id = a.Name
		}
		if strings.HasPrefix(a.Value, "-") || strings.HasPrefix(a.Default, "-") {
			return fail(env.CodeRecord, "the argument %s begins with -: refused", "参数 %s 以 - 开头：已拒绝", Show(a.Value+a.Default))
		}
	case "named":
		if !argName().MatchString(a.Name) {
			return fail(env.CodeRecord, "%s is not a name of an argument: refused", "%s 不是参数名：已拒绝", Show(a.Name))
		}
		if strings.HasPrefix(a.Value, "-") {
			return fail(env.CodeRecord, "the value %s of %s begins with -: refused", "%[2]s 的值 %[1]s 以 - 开头：已拒绝", Show(a.Value), a.Name)
		}
		one.flag = a.Name
		if a.bare() {
			p.args = append(p.args, one)
			return nil
		}
		one.boolean = a.Format == "boolean" && a.Value == ""
	default:
		return fail(env.CodeRecord, "the argument type %s is not known: refused", "未知的参数类型 %s：已拒绝", Show(a.Type))
	}
	v, err := p.template(a.input, KindArg, id)
	if err != nil {
		return err
	}
	if n := len(p.Questions); a.Repeated && a.Value == "" && n > 0 {
		p.Questions[n-1].Repeated = true
	}
	one.value = &v
	p.args = append(p.args, one)
	return nil
}

// bare reports whether a named argument is only a flag: no field suggests a
// value.
func (a *argument) bare() bool {
	return a.Value == "" && a.Default == "" && a.Format == "" && a.Placeholder == "" && a.Hint == "" && len(a.Choices) == 0 && !a.Secret
}
