package install

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/steering"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/lazy"
)

// A Manifest is the manifest.json of a bundle, versions 0.1 to 0.4. Its lists
// of tools and prompts are not read, because the server itself lists them.
type Manifest struct {
	Version     string `json:"manifest_version"`
	Older       string `json:"dxt_version"`
	Name        string `json:"name"`
	Release     string `json:"version"`
	Description string `json:"description"`
	Author      struct {
		Name string `json:"name"`
	} `json:"author"`
	Server struct {
		Type   string `json:"type"`
		Entry  string `json:"entry_point"`
		Config launch `json:"mcp_config"`
	} `json:"server"`
	User          map[string]userConfig `json:"user_config"`
	Compatibility struct {
		Platforms []string          `json:"platforms"`
		Runtimes  map[string]string `json:"runtimes"`
	} `json:"compatibility"`
}

type launch struct {
	Command   string            `json:"command"`
	Args      []string          `json:"args"`
	Env       map[string]string `json:"env"`
	Platforms map[string]launch `json:"platform_overrides"`
}

type userConfig struct {
	Type        string          `json:"type"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Required    bool            `json:"required"`
	Default     json.RawMessage `json:"default"`
	Multiple    bool            `json:"multiple"`
	Sensitive   bool            `json:"sensitive"`
	Min         json.Number     `json:"min"`
	Max         json.Number     `json:"max"`
}

// The lengths are checked separately: compiling a regular expression with such
// a count takes a millisecond at every start of the program.
var (
	bundleName     = lazy.Regexp(`^[A-Za-z0-9@][A-Za-z0-9@/._ -]*$`)
	releaseVersion = lazy.Regexp(`^[!-.0-\[\]-~]+$`)
)

func isBundleName(s string) bool { return len(s) <= 128 && bundleName().MatchString(s) }

// isReleaseVersion accepts a version of any scheme: visible characters, no
// spaces, and no path separators.
func isReleaseVersion(s string) bool { return len(s) <= 255 && releaseVersion().MatchString(s) }

func (b *Bundle) readManifest() error {
	nested := ""
	for _, f := range b.zip.File {
		if f.Name != "manifest.json" {
			if path.Base(f.Name) == "manifest.json" && strings.Count(f.Name, "/") == 1 {
				nested = f.Name
			}
			continue
		}
		in, err := f.Open()
		if err != nil {
			return badBundle("its manifest cannot be read", "无法读取 manifest")
		}
		defer in.Close()
		return b.parseManifest(in)
	}
	if nested != "" {
		return badBundle("its manifest is %s, not manifest.json", "manifest 是 %s，而不是 manifest.json", Show(nested))
	}
	return badBundle("it has no manifest.json", "没有 manifest.json")
}

func (b *Bundle) parseManifest(in io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(in, maxRecord+1))
	if err != nil {
		return badBundle("its manifest cannot be read", "无法读取 manifest")
	}
	if err := parseStrict(data, &b.Manifest); err != nil {
		return badBundle("manifest.json: %v", "manifest.json：%v", err)
	}
	return b.Manifest.check()
}

func (m *Manifest) check() error {
	version := cmp.Or(m.Version, m.Older)
	switch {
	case !slices.Contains([]string{"0.1", "0.2", "0.3", "0.4"}, version):
		return badBundle("the version %s of its manifest is not known", "manifest 版本 %s 未知", Show(version))
	case !isBundleName(m.Name):
		return badBundle("%s is not a name", "%s 不是名称", Show(m.Name))
	case m.Release != "" && !isReleaseVersion(m.Release):
		return badBundle("%s is not a version", "%s 不是版本号", Show(m.Release))
	case len(m.User) > maxInputs:
		return badBundle("it asks more than %d questions", "问题超过 %d 个", maxInputs)
	case !slices.Contains([]string{"node", "python", "uv", "binary"}, m.Server.Type):
		return badBundle("the type %s of its server is not known", "服务器类型 %s 未知", Show(m.Server.Type))
	case !safeName(m.Server.Entry):
		return badBundle("its entry point %s is not a plain path inside the bundle", "入口 %s 不是安装包内的普通路径", Show(m.Server.Entry))
	}
	return nil
}

// A System describes the machine on which a bundle is to run.
type System struct {
	OS  string              // runtime.GOOS
	Can func(string) bool   // reports whether a program is in PATH
	Has func(string) string // returns the version that a program reports, or ""
	// Folders are the paths of HOME, DESKTOP, DOCUMENTS and DOWNLOADS.
	Folders map[string]string
	// Bundles is the folder into which bundles are unpacked.
	Bundles string
}

func (s *System) platform() string {
	if s.OS == "windows" {
		return "win32"
	}
	return s.OS
}

// A BundlePlan is how a bundle would run on this machine.
type BundlePlan struct {
	Bundle    *Bundle
	Questions []Question
	launch    launch
	system    *System
}

// Plan checks whether the bundle runs on this machine, and collects the
// questions.
func (b *Bundle) Plan(s *System) (*BundlePlan, error) {
	m := &b.Manifest
	if list := m.Compatibility.Platforms; len(list) > 0 && !slices.Contains(list, s.platform()) {
		return nil, badBundle("it is for %s, but this system is %s", "它适用于 %s，而本系统是 %s", Show(strings.Join(list, ", ")), s.platform())
	}
	p := &BundlePlan{Bundle: b, launch: m.Server.Config, system: s}
	if over, ok := p.launch.Platforms[s.platform()]; ok {
		p.override(over)
	}
	if m.Server.Type == "uv" && p.launch.Command == "" {
		p.launch.Command, p.launch.Args = "uv", []string{"run", "--directory", "${__dirname}", m.Server.Entry}
	}
	if err := p.checkCommand(); err != nil {
		return nil, err
	}
	for _, name := range env.SortedKeys(p.launch.Env) {
		if err := p.checkEnv(name, p.launch.Env[name]); err != nil {
			return nil, err
		}
	}
	return p, p.ask()
}

func (p *BundlePlan) override(over launch) {
	if over.Command != "" {
		p.launch.Command = over.Command
	}
	if over.Args != nil {
		p.launch.Args = over.Args
	}
	if over.Env != nil {
		p.launch.Env = over.Env
	}
}

// programs are the programs that may run a type of server, besides files of the
// bundle.
var programs = map[string][]string{"node": {"node"}, "python": {"python3", "python"}, "uv": {"uv"}, "binary": nil}

// checkCommand allows a bundle to run only its own files or the interpreter of
// its type.
func (p *BundlePlan) checkCommand() error {
	m := &p.Bundle.Manifest
	command := p.launch.Command
	if own, ok := strings.CutPrefix(command, "${__dirname}/"); ok && safeName(own) {
		return nil
	}
	if m.Server.Type == "binary" && safeName(command) && strings.Contains(command, "/") {
		p.launch.Command = "${__dirname}/" + command
		return nil
	}
	if !slices.Contains(programs[m.Server.Type], command) {
		return badBundle("it runs %s, which is neither its own nor the program of its type %s", "它运行 %s，既不是自身文件，也不是类型 %s 的程序", Show(command), m.Server.Type)
	}
	if !p.system.Can(command) {
		if command == "python" && p.system.Can("python3") {
			p.launch.Command = "python3"
		} else {
			return Needs(command)
		}
	}
	if want := m.Compatibility.Runtimes[strings.TrimSuffix(command, "3")]; want != "" && !satisfies(p.system.Has(p.launch.Command), want) {
		return badBundle("it needs %s %s, but %s is installed", "它需要 %s %s，而已安装的是 %s", command, Show(want), p.system.Has(p.launch.Command))
	}
	return nil
}

// checkEnv refuses variables that control what programs load, except what leads
// into the bundle or is only the answer of a person, where that may be.
func (p *BundlePlan) checkEnv(name, value string) error {
	asked := !steering.Asked(name).Empty()
	if (name == "PYTHONPATH" || asked) && value != "" {
		inside := true
		for _, part := range strings.FieldsFunc(value, func(r rune) bool { return r == ':' || r == ';' }) {
			inside = inside && (part == "${__dirname}" || strings.HasPrefix(part, "${__dirname}/") && safeName(part[len("${__dirname}/"):]))
		}
		if inside {
			return nil
		}
	}
	if !asked {
		return checkEnvName(name)
	}
	for setting := range p.Bundle.Manifest.User {
		if value == ofUser(setting) {
			return nil
		}
	}
	return setsItself(name)
}

// ofUser returns how a manifest refers to a user setting.
func ofUser(setting string) string { return "${user_config." + setting + "}" }

// steers reports whether a user setting is a variable that only a person may
// set.
func (p *BundlePlan) steers(setting string) bool {
	for name, value := range p.launch.Env {
		if value == ofUser(setting) && !steering.Asked(name).Empty() {
			return true
		}
	}
	return false
}

var configName = lazy.Regexp(`^[A-Za-z0-9_.-]+$`)

// ask creates a question for each user setting of the manifest.
func (p *BundlePlan) ask() error {
	for _, name := range env.SortedKeys(p.Bundle.Manifest.User) {
		u := p.Bundle.Manifest.User[name]
		if !configName().MatchString(name) {
			return badBundle("%s is not a name of a setting", "%s 不是设置项的名称", Show(name))
		}
		format := map[string]string{"string": "string", "number": "number", "boolean": "boolean", "directory": "directory", "file": "filepath"}[u.Type]
		if format == "" {
			return badBundle("the type %s of %s is not known", "%[2]s 的类型 %[1]s 未知", Show(u.Type), name)
		}
		q := Question{ID: name, Kind: KindArg, Description: u.Title, Required: u.Required, Secret: u.Sensitive,
			Repeated: u.Multiple, Format: format, Min: u.Min.String(), Max: u.Max.String()}
		if u.Description != "" {
			q.Description += ": " + u.Description
		}
		if u.Sensitive {
			q.Kind = KindEnv
		}
		if q.Default = p.defaultOf(u); q.opens() || p.steers(name) {
			q.leaveOpen()
		}
		p.Questions = append(p.Questions, q)
	}
	return nil
}

// defaultOf returns the default of a setting as text; if there are several, the
// first.
func (p *BundlePlan) defaultOf(u userConfig) string {
	var v any
	if len(u.Default) == 0 || json.Unmarshal(u.Default, &v) != nil {
		return ""
	}
	if list, ok := v.([]any); ok {
		if len(list) == 0 {
			return ""
		}
		v = list[0]
	}
	if v == nil {
		return ""
	}
	text := fmt.Sprint(v)
	for name, folder := range p.system.Folders {
		text = strings.ReplaceAll(text, "${"+name+"}", folder)
	}
	return text
}

// Fill creates the entry with a local name.
func (p *BundlePlan) Fill(local string, answers Answers) (*Filled, error) {
	b := p.Bundle
	f := &bundleFiller{plan: p, filler: filler{local: local, answers: answers, secrets: map[string]string{}}, dir: b.Folder(p.system.Bundles)}
	e := &Entry{Env: map[string]string{}, Origin: &config.Origin{Bundle: b.Source, SHA256: b.SHA256, Signer: b.Signature.Signer(), Name: b.Manifest.Name, Version: b.Manifest.Release}}
	var err error
	if e.Command, _, err = f.text(p.launch.Command); err != nil {
		return nil, err
	}
	for _, a := range p.launch.Args {
		list, err := f.arg(a)
		if err != nil {
			return nil, err
		}
		e.Args = append(e.Args, list...)
	}
	for _, name := range env.SortedKeys(p.launch.Env) {
		text, ok, err := f.text(p.launch.Env[name])
		if err != nil {
			return nil, err
		}
		if ok {
			e.Env[name] = text
		}
	}
	e.needs = f.profile()
	return &Filled{e, f.secrets}, nil
}

// bundleFiller replaces the variables of a manifest once, not recursively.
type bundleFiller struct {
	filler
	plan *BundlePlan
	dir  string
}

var manifestVariable = lazy.Regexp(`\$\{([^}]*)\}`)

func (f *bundleFiller) question(name string) *Question {
	id, ok := strings.CutPrefix(name, "user_config.")
	if !ok {
		return nil
	}
	for i, q := range f.plan.Questions {
		if q.ID == id {
			return &f.plan.Questions[i]
		}
	}
	return nil
}

// arg returns one argument, or several if a setting has several values.
func (f *bundleFiller) arg(text string) ([]string, error) {
	if m := manifestVariable().FindStringSubmatch(text); m != nil && m[0] == text {
		if q := f.question(m[1]); q != nil && q.Repeated && !q.Secret {
			var list []string
			for _, answer := range f.answers.of(q) {
				list = append(list, literal(answer))
			}
			return list, nil
		}
	}
	filled, ok, err := f.text(text)
	if err != nil || !ok {
		return nil, err
	}
	return []string{filled}, nil
}

// text replaces the variables of one text. It returns false if an answer is
// missing.
func (f *bundleFiller) text(text string) (string, bool, error) {
	var t template
	for {
		at := manifestVariable().FindStringSubmatchIndex(text)
		if at == nil {
			break
		}
		t = append(t, piece{text: text[:at[0]]})
		name := text[at[2]:at[3]]
		q := f.question(name)
		switch folder, known := f.plan.system.Folders[name]; {
		case q != nil:
			t = append(t, piece{question: q})
		case name == "__dirname":
			t = append(t, piece{text: f.dir})
		case name == "/" || name == "pathSeparator":
			t = append(t, piece{text: string(filepath.Separator)})
		case known:
			t = append(t, piece{text: folder})
		default:
			t = append(t, piece{text: text[at[0]:at[1]]})
		}
		text = text[at[1]:]
	}
	return f.one(append(t, piece{text: text}))
}

// profile lets the server access its bundle and the files and folders that the
// person chose.
func (f *bundleFiller) profile() *Profile {
	p := &Profile{Read: []string{literal(f.dir)}}
	for i := range f.plan.Questions {
		q := &f.plan.Questions[i]
		for _, answer := range f.answers.of(q) {
			switch q.Format {
			case "directory":
				p.Write = append(p.Write, literal(answer))
			case "filepath":
				p.Read = append(p.Read, literal(answer))
			}
		}
	}
	return p
}

var versionNumbers = lazy.Regexp(`\d+(\.\d+){0,2}`)

// satisfies compares a version with the requirement of a manifest, ">=18.0.0".
// It accepts every requirement in another form.
func satisfies(have, want string) bool {
	least, ok := strings.CutPrefix(strings.TrimSpace(want), ">=")
	if !ok || strings.ContainsAny(least, "<>|^~ ") {
		return true
	}
	have, least = versionNumbers().FindString(have), versionNumbers().FindString(least)
	return have != "" && (least == "" || semver.Compare("v"+have, "v"+least) >= 0)
}
