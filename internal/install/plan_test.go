package install

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/secrets"
)

func readRecord(t *testing.T, file, name string) *Record {
	t.Helper()
	data := []byte(must.Read(t, filepath.Join("testdata", "registry", file+".json")))
	rec, err := parseRecord(data, name)
	if err != nil {
		t.Fatal(err)
	}
	rec.Registry = "official"
	return rec
}

func can(programs ...string) func(string) bool {
	return func(p string) bool { return slices.Contains(programs, p) }
}

// TestPlanSeed plans the seed data of the official registry.
func TestPlanSeed(t *testing.T) {
	for name, tt := range map[string]struct {
		file, name, way string
		can             []string
		want            string
	}{
		"npm":        {"airtable-mcp-server.latest", "airtable-mcp-server", "", []string{"npx"}, `npx ["-y","airtable-mcp-server@1.7.3"]`},
		"npm, older": {"airtable-mcp-server.1.7.2", "airtable-mcp-server", "", []string{"npx"}, `npx ["-y","airtable-mcp-server@1.7.2"]`},
		"pypi":       {"time-mcp-pypi.latest", "time-mcp-pypi", "", []string{"uvx"}, `uvx ["time-mcp-pypi==1.0.6"]`},
		"nuget":      {"time-mcp-nuget.latest", "time-mcp-nuget", "", []string{"dnx"}, `dnx ["TimeMcpServer@1.0.8","--yes","--"]`},
		"no dnx":     {"time-mcp-nuget.latest", "time-mcp-nuget", "", nil, "needs dnx, which is not in PATH: install it from https://dotnet.microsoft.com"},
		"no uvx":     {"time-mcp-pypi.latest", "time-mcp-pypi", "", nil, "needs uvx, which is not in PATH: install it from https://docs.astral.sh/uv"},
		"no such":    {"time-mcp-pypi.latest", "time-mcp-pypi", NPM, []string{"npx"}, "is not offered as npm; available: pypi"},
		"image":      {"airtable-mcp-server.latest", "airtable-mcp-server", OCI, []string{"docker"}, `docker ["run","-i","--rm","-e","AIRTABLE_API_KEY","docker.io/domdomegg/airtable-mcp-server:1.7.3"]`},
		"podman":     {"airtable-mcp-server.latest", "airtable-mcp-server", OCI, []string{"podman"}, `podman ["run","-i","--rm","-e","AIRTABLE_API_KEY","docker.io/domdomegg/airtable-mcp-server:1.7.3"]`},
		"no engine":  {"airtable-mcp-server.latest", "airtable-mcp-server", OCI, nil, "needs docker, which is not in PATH: install it from https://docs.docker.com/engine, or podman from https://podman.io"},
	} {
		t.Run("install/plan/"+name, func(t *testing.T) {
			rec := readRecord(t, tt.file, "io.github.domdomegg/"+tt.name)
			p, err := NewPlan(rec, PlanOptions{Way: tt.way, Can: can(tt.can...)})
			got := fmt.Sprint(err)
			if err == nil {
				filled, err := p.Fill("x", Answers{})
				if err != nil {
					t.Fatal(err)
				}
				args, _ := json.Marshal(filled.Entry.Args)
				got = filled.Entry.Command + " " + string(args)
			}
			if !strings.Contains(got, tt.want) {
				t.Errorf("got %s\nwant %s", got, tt.want)
			}
		})
	}
}

// The arguments and the variables of a NuGet package are those of its program, not of
// dnx.
func TestPlanNuGet(t *testing.T) {
	p, err := planOf(t, `"packages":[{"registryType":"nuget","registryBaseUrl":"https://api.nuget.org/v3/index.json","identifier":"Acme.Mcp","version":"1.2.3-beta.1","transport":{"type":"stdio"},
		"packageArguments":[{"type":"positional","value":"mcp"},{"type":"named","name":"--root","value":"a b"}],"environmentVariables":[{"name":"ACME_KEY","value":"k"}]}]`)
	if err != nil {
		t.Fatal(err)
	}
	filled, err := p.Fill("x", Answers{})
	if err != nil {
		t.Fatal(err)
	}
	if e := filled.Entry; e.Command != "dnx" || !slices.Equal(e.Args, []string{"Acme.Mcp@1.2.3-beta.1", "--yes", "--", "mcp", "--root", "a b"}) || e.Env["ACME_KEY"] != "k" {
		t.Errorf("install/nuget: %+v", e)
	}
}

// planOf plans a record with the given body.
func planOf(t *testing.T, body string) (*Plan, error) {
	t.Helper()
	rec, err := parseRecord([]byte(`{"server":{"name":"a.b/c","description":"d","version":"1.0.0",`+body+`}}`), "a.b/c")
	if err != nil {
		return nil, err
	}
	return NewPlan(rec, PlanOptions{Can: func(string) bool { return true }, Bases: []string{"https://npm.example.com"}})
}

const npmHead = `"packages":[{"registryType":"npm","identifier":"x","version":"1.0.0","transport":{"type":"stdio"}`

func TestBadPlans(t *testing.T) {
	npm := func(id, version string) string {
		return fmt.Sprintf(`"packages":[{"registryType":"npm","identifier":%q,"version":%q,"transport":{"type":"stdio"}}]`, id, version)
	}
	pypi := func(id, version string) string { return strings.Replace(npm(id, version), `"npm"`, `"pypi"`, 1) }
	nuget := func(id, version, more string) string {
		return strings.Replace(strings.Replace(npm(id, version), `"npm"`, `"nuget"`, 1), `}]`, more+`}]`, 1)
	}
	for name, tt := range map[string]struct{ body, code, want string }{
		"space":             {npm("a b", "1.0.0"), env.CodeRecord, "not the name of a package of npm"},
		"semicolon":         {npm("a;b", "1.0.0"), env.CodeRecord, "not the name of a package of npm"},
		"at twice":          {npm("a@b@c", "1.0.0"), env.CodeRecord, "not the name of a package of npm"},
		"file":              {npm("file:a", "1.0.0"), env.CodeRecord, "not the name of a package of npm"},
		"git":               {npm("git+https://h/a", "1.0.0"), env.CodeRecord, "not the name of a package of npm"},
		"path":              {npm("../a", "1.0.0"), env.CodeRecord, "not the name of a package of npm"},
		"option":            {npm("-g", "1.0.0"), env.CodeRecord, "not the name of a package of npm"},
		"range":             {npm("a", "^1.0.0"), env.CodeRecord, "not an exact version"},
		"latest":            {npm("a", "latest"), env.CodeRecord, "not an exact version"},
		"no version":        {npm("a", ""), env.CodeRecord, "not an exact version"},
		"version of a path": {npm("a", "file:../x"), env.CodeRecord, "not an exact version"},
		"pypi option":       {pypi("--with", "1.0"), env.CodeRecord, "not the name of a package of pypi"},
		"pypi extra":        {pypi("a[b]", "1.0"), env.CodeRecord, "not the name of a package of pypi"},
		"pypi range":        {pypi("a", "1.*"), env.CodeRecord, "not an exact version"},
		"nuget option":      {nuget("--source", "1.0.0", ""), env.CodeRecord, "not the name of a package of nuget"},
		"nuget version":     {nuget("A@1.0.0", "1.0.0", ""), env.CodeRecord, "not the name of a package of nuget"},
		"nuget range":       {nuget("A.B", "[1.0,2.0)", ""), env.CodeRecord, "not an exact version of a package of nuget"},
		"nuget base":        {nuget("A.B", "1.0.0", `,"registryBaseUrl":"https://evil.example"`), env.CodeRecord, "neither the public registry nor listed"},
		"nuget runtime":     {nuget("A.B", "1.0.0", `,"runtimeArguments":[{"type":"named","name":"--add-source","value":"x"}]`), env.CodeRecord, "arguments of dnx itself"},
		"nuget hook":        {nuget("A.B", "1.0.0", `,"environmentVariables":[{"name":"DOTNET_STARTUP_HOOKS","value":"/x.dll"}]`), env.CodeSteers, "DOTNET_STARTUP_HOOKS"},
		"nuget profiler":    {nuget("A.B", "1.0.0", `,"environmentVariables":[{"name":"CORECLR_PROFILER_PATH","value":"/x.so"}]`), env.CodeSteers, "CORECLR_PROFILER_PATH"},
		"nuget source":      {nuget("A.B", "1.0.0", `,"environmentVariables":[{"name":"NUGET_PACKAGES","value":"/x"}]`), env.CodeSteers, "NUGET_PACKAGES"},
		"unknown type":      {`"packages":[{"registryType":"cargo","identifier":"x","version":"1.0.0"}]`, env.CodeRecord, "offers nothing that can be run here; available: cargo"},
		"nothing":           {`"packages":[]`, env.CodeRecord, "offers nothing"},
		"listens":           {`"packages":[{"registryType":"npm","identifier":"x","version":"1.0.0","transport":{"type":"streamable-http","url":"http://127.0.0.1:3000"}}]`, env.CodeRecord, "a.b/c wants to listen on a port; start it yourself and add its URL"},
		"runtime argument":  {npmHead + `,"runtimeArguments":[{"type":"named","name":"--node-options","value":"x"}]}]`, env.CodeRecord, "arguments of npx itself"},
		"other base":        {npmHead + `,"registryBaseUrl":"https://evil.example"}]`, env.CodeRecord, "neither the public registry nor listed"},
		"value with dash":   {npmHead + `,"packageArguments":[{"type":"positional","value":"--eval"}]}]`, env.CodeRecord, "begins with -"},
		"named with dash":   {npmHead + `,"packageArguments":[{"type":"named","name":"--a","value":"--eval"}]}]`, env.CodeRecord, "begins with -"},
		"name of argument":  {npmHead + `,"packageArguments":[{"type":"named","name":"--a b","value":"x"}]}]`, env.CodeRecord, "not a name of an argument"},
		"type of argument":  {npmHead + `,"packageArguments":[{"type":"magic","value":"x"}]}]`, env.CodeRecord, "argument type magic"},
		"format":            {npmHead + `,"environmentVariables":[{"name":"A","format":"shell"}]}]`, env.CodeRecord, "format shell"},
		"NODE_OPTIONS":      {npmHead + `,"environmentVariables":[{"name":"NODE_OPTIONS","value":"--require=/x"}]}]`, env.CodeSteers, "sets NODE_OPTIONS, which would run code in every Node program: refused"},
		"LD_PRELOAD":        {npmHead + `,"environmentVariables":[{"name":"LD_PRELOAD"}]}]`, env.CodeSteers, "LD_PRELOAD"},
		"DYLD":              {npmHead + `,"environmentVariables":[{"name":"DYLD_INSERT_LIBRARIES"}]}]`, env.CodeSteers, "DYLD_INSERT_LIBRARIES"},
		"PYTHONPATH":        {npmHead + `,"environmentVariables":[{"name":"PYTHONPATH"}]}]`, env.CodeSteers, "PYTHONPATH"},
		"BASH_ENV":          {npmHead + `,"environmentVariables":[{"name":"BASH_ENV"}]}]`, env.CodeSteers, "BASH_ENV"},
		"ENV":               {npmHead + `,"environmentVariables":[{"name":"ENV"}]}]`, env.CodeSteers, "sets ENV"},
		"PATH":              {npmHead + `,"environmentVariables":[{"name":"PATH"}]}]`, env.CodeSteers, "sets PATH"},
		"proxy":             {npmHead + `,"environmentVariables":[{"name":"https_proxy"}]}]`, env.CodeSteers, "https_proxy"},
		"npm_config":        {npmHead + `,"environmentVariables":[{"name":"npm_config_registry"}]}]`, env.CodeSteers, "npm_config_registry"},
		"UV":                {npmHead + `,"environmentVariables":[{"name":"UV_INDEX_URL"}]}]`, env.CodeSteers, "UV_INDEX_URL"},
		"PIP":               {npmHead + `,"environmentVariables":[{"name":"PIP_INDEX_URL"}]}]`, env.CodeSteers, "PIP_INDEX_URL"},
		"name of variable":  {npmHead + `,"environmentVariables":[{"name":"A=B"}]}]`, env.CodeSteers, "not a name of a variable"},
		"plain http":        {`"remotes":[{"type":"streamable-http","url":"http://h.example/mcp"}]`, env.CodeRecord, "not an https address"},
		"host to fill in":   {`"remotes":[{"type":"streamable-http","url":"https://{h}/mcp","variables":{"h":{}}}]`, env.CodeRecord, "not an https address"},
		"user in address":   {`"remotes":[{"type":"sse","url":"https://a:b@h.example/mcp"}]`, env.CodeRecord, "not an https address"},
		"unknown remote":    {`"remotes":[{"type":"websocket","url":"https://h.example"}]`, env.CodeRecord, "transport websocket"},
		"name of header":    {`"remotes":[{"type":"sse","url":"https://h.example/","headers":[{"name":"A: b"}]}]`, env.CodeRecord, "not a name of a header"},
	} {
		t.Run("install/bad-plan/"+name, func(t *testing.T) {
			p, err := planOf(t, tt.body)
			if err == nil || codeOf(err) != tt.code || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("plan %+v, error %v, want %q", p, err, tt.want)
			}
		})
	}
	for _, address := range []string{"https://127.0.0.1:1/mcp", "http://127.0.0.1:1/mcp", "http://localhost/mcp", "https://a.localhost/mcp", "https://[::1]/mcp", "https://0x7f000001/mcp", "https://2130706433/mcp",
		"https://10.0.0.1/mcp", "https://192.168.1.1/mcp", "https://169.254.169.254/latest", "https://[fd00::1]/mcp", "https://[::ffff:127.0.0.1]/mcp", "https://127.0.0.1:2/mcp"} {
		t.Run("install/bad-plan/"+address, func(t *testing.T) {
			rec := &Record{}
			rec.Server.Remotes = []transport{{Type: "streamable-http", URL: address}}
			for _, registry := range []string{"", "http://127.0.0.1:3", "https://registry.example"} {
				_, err := NewPlan(rec, PlanOptions{Registry: registry, Bases: []string{address}})
				if err == nil || codeOf(err) != env.CodeRecord || !strings.Contains(err.Error(), address) || !strings.Contains(err.Error(), "add NAME URL") {
					t.Errorf("from %q: %v", registry, err)
				}
			}
			u, _ := url.Parse(address)
			if _, err := NewPlan(rec, PlanOptions{Registry: "https://" + u.Host + "/registry"}); err != nil {
				t.Errorf("from a registry at the same host: %v", err)
			}
		})
	}
	t.Run("install/bad-plan/deleted", func(t *testing.T) {
		rec, err := parseRecord([]byte(`{"server":{"name":"a.b/c","version":"1.0.0","remotes":[{"type":"sse","url":"https://h.example/"}]},"_meta":{"io.modelcontextprotocol.registry/official":{"status":"deleted"}}}`), "a.b/c")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := NewPlan(rec, PlanOptions{}); err == nil || !strings.Contains(err.Error(), "deleted") {
			t.Error(err)
		}
	})
}

// settled returns what a plan becomes with these answers.
func settled(t *testing.T, questions []Question, fill func(string, Answers) (*Filled, error), answers Answers) *Filled {
	t.Helper()
	must.OK(t, Settle(questions, answers))
	filled, err := fill("n", answers)
	if err != nil {
		t.Fatal(err)
	}
	return filled
}

// Answers of a person become an entry; untrusted text stays text.
func TestFill(t *testing.T) {
	dir := t.TempDir()
	for name, tt := range map[string]struct {
		body    string
		answers Answers
		want    string
		secrets string
	}{
		"secret": {npmHead + `,"environmentVariables":[{"name":"KEY","isRequired":true,"isSecret":true}]}]`,
			Answers{KindEnv: {"KEY": {"s3cret"}}}, `{"command":"npx","args":["-y","x@1.0.0"],"env":{"KEY":"${secret:n.KEY}"}}`, "map[n.KEY:s3cret]"},
		"default": {npmHead + `,"environmentVariables":[{"name":"A","default":"${file:/etc/passwd}"},{"name":"B"}]}]`,
			Answers{}, `{"command":"npx","args":["-y","x@1.0.0"],"env":{"A":"$${file:/etc/passwd}"}}`, "map[]"},
		"fixed value": {npmHead + `,"environmentVariables":[{"name":"A","value":"a${HOME}b"}]}]`,
			Answers{}, `{"command":"npx","args":["-y","x@1.0.0"],"env":{"A":"a$${HOME}b"}}`, "map[]"},
		"answer": {npmHead + `,"environmentVariables":[{"name":"A"}]}]`,
			Answers{KindEnv: {"A": {"${file:/etc/passwd}"}}}, `{"command":"npx","args":["-y","x@1.0.0"],"env":{"A":"$${file:/etc/passwd}"}}`, "map[]"},
		"arguments": {npmHead + `,"packageArguments":[{"type":"named","name":"--stdio"},{"type":"named","name":"--port","format":"number"},{"type":"named","name":"--fast","format":"boolean"},{"type":"positional","valueHint":"dir","format":"filepath","isRepeated":true}]}]`,
			Answers{KindArg: {"port": {"80"}, "fast": {"true"}, "dir": {dir, dir}}}, `{"command":"npx","args":["-y","x@1.0.0","--stdio","--port","80","--fast","` + dir + `","` + dir + `"]}`, "map[]"},
		"variables, once": {npmHead + `,"environmentVariables":[{"name":"A","value":"{u}-{v}-{w}","variables":{"u":{},"v":{"default":"{u}"}}}]}]`,
			Answers{KindEnv: {"u": {"{v}"}}}, `{"command":"npx","args":["-y","x@1.0.0"],"env":{"A":"{v}-{u}-{w}"}}`, "map[]"},
		"dollar before a brace": {npmHead + `,"environmentVariables":[{"name":"A","value":"${u}","variables":{"u":{}}}]}]`,
			Answers{KindEnv: {"u": {"{HOME}"}}}, `{"command":"npx","args":["-y","x@1.0.0"],"env":{"A":"$${HOME}"}}`, "map[]"},
		"other base": {`"packages":[{"registryType":"npm","registryBaseUrl":"https://npm.example.com/","identifier":"x","version":"1.0.0"}]`,
			Answers{}, `{"command":"npx","args":["-y","x@1.0.0"],"env":{"npm_config_registry":"https://npm.example.com"}}`, "map[]"},
		"remote": {`"remotes":[{"type":"streamable-http","url":"https://h.example/{tenant}/mcp","variables":{"tenant":{"isRequired":true}},"headers":[{"name":"Authorization","value":"Bearer {token}","variables":{"token":{"isSecret":true,"isRequired":true}}}]}]`,
			Answers{KindArg: {"tenant": {"t"}}, KindHeader: {"token": {"k"}}}, `{"type":"http","url":"https://h.example/t/mcp","headers":{"Authorization":"Bearer ${secret:n.token}"}}`, "map[n.token:k]"},
	} {
		t.Run("install/fill/"+name, func(t *testing.T) {
			p, err := planOf(t, tt.body)
			if err != nil {
				t.Fatal(err)
			}
			filled := settled(t, p.Questions, p.Fill, tt.answers)
			filled.Entry.Origin = nil
			got, err := filled.Entry.JSON()
			if err != nil || string(got) != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if s := fmt.Sprint(filled.Secrets); s != tt.secrets {
				t.Errorf("secrets %s, want %s", s, tt.secrets)
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_STATE_HOME", "")
	own := filepath.Join(home, ".mcp-all-in-one", "servers")
	must.Folder(t, own)
	file := must.Write(t, filepath.Join(t.TempDir(), "f"), "")
	for name, tt := range map[string]struct {
		q        Question
		in, want string // want is "" if the answer is refused
	}{
		"number":         {Question{Format: "number"}, "1.5", "1.5"},
		"not a number":   {Question{Format: "number"}, "x", ""},
		"too small":      {Question{Format: "number", Min: "2"}, "1", ""},
		"too large":      {Question{Format: "number", Max: "2"}, "3", ""},
		"boolean":        {Question{Format: "boolean"}, "true", "true"},
		"not a boolean":  {Question{Format: "boolean"}, "yes", ""},
		"choice":         {Question{Choices: []string{"a", "b"}}, "b", "b"},
		"choice, number": {Question{Choices: []string{"a", "b"}}, "2", "b"},
		"no choice":      {Question{Choices: []string{"a", "b"}}, "3", ""},
		"path":           {Question{Format: "filepath"}, file, file},
		"no path":        {Question{Format: "filepath"}, file + "x", ""},
		"not a folder":   {Question{Format: "directory"}, file, ""},
		"root":           {Question{Format: "directory"}, "/", ""},
		"home":           {Question{Format: "directory"}, home, ""},
		"our folder":     {Question{Format: "directory"}, own, ""},
		"line break":     {Question{}, "a\nb", ""},
		"option":         {Question{Kind: KindArg}, "--eval", ""},
		"minus":          {Question{Kind: KindArg, Format: "number"}, "-1", "-1"},
	} {
		t.Run("install/answer/"+name, func(t *testing.T) {
			got, err := tt.q.Check(tt.in)
			if (err == nil) != (tt.want != "") || err == nil && got != tt.want {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	t.Run("install/answer/nobody to ask", func(t *testing.T) {
		err := NoTerminal(Missing([]Question{{ID: "AIRTABLE_API_KEY", Kind: KindEnv, Required: true}, {ID: "b"}}, Answers{}))
		if codeOf(err) != env.CodeAsk || err.Error() != "no terminal to ask on; give --env AIRTABLE_API_KEY=..." {
			t.Error(err)
		}
	})
}

func TestNames(t *testing.T) {
	for word, want := range map[string]bool{
		"io.github.owner/name": true, "io.github.owner/name@1.2.0": true, "com.acme/a_b.c": true,
		"owner/name": false, "./x.y/z": false, "https://a.b/c": false, "name": false, "a.b/c/d": false, "а.b/c": false, "@scope/name": false,
	} {
		if IsName(word) != want {
			t.Errorf("install/name: %q is %v", word, !want)
		}
	}
	for name, want := range map[string]string{
		"io.github.domdomegg/airtable-mcp-server": "airtable", "a.b/mcp-server-time": "time", "a.b/x-mcp": "x", "a.b/mcp": "mcp", "a.b/mcp-": "mcp-",
	} {
		if got := LocalName(name); got != want {
			t.Errorf("install/name: %s is %s here, want %s", name, got, want)
		}
	}
	known := []string{"io.github.owner/airtable"}
	for name, near := range map[string]bool{
		"io.github.owner/airtab1e": true, "io.github.0wner/airtable": true, "io.github.owner/airtables": true, "io.github.owner/airtable": false, "io.github.owner/weather": false,
	} {
		if got := LooksLike(name, known) != ""; got != near {
			t.Errorf("install/lookalike: %s %v", name, got)
		}
	}
	rec := readRecord(t, "airtable-mcp-server.latest", "io.github.domdomegg/airtable-mcp-server")
	if fits, known := rec.OwnerFits(); !fits || !known {
		t.Error("install/owner: the owner fits")
	}
	rec.Server.Repository.URL = "https://github.com/somebody/airtable-mcp-server"
	if fits, known := rec.OwnerFits(); fits || !known {
		t.Error("install/owner: another owner fits")
	}
}

// FuzzPlan checks that an entry from any record is read back by the config file
// as exactly its texts, without resolving variables.
func FuzzPlan(f *testing.F) {
	for _, file := range []string{"airtable-mcp-server.latest", "time-mcp-nuget.latest", "time-mcp-pypi.latest"} {
		f.Add([]byte(must.Read(f, filepath.Join("testdata", "registry", file+".json"))), "answer")
	}
	f.Add([]byte(`{"server":{"name":"a.b/c","version":"1","packages":[{"registryType":"npm","identifier":"x","version":"1.0.0","environmentVariables":[{"name":"A","value":"$${HOME}${","default":"}"},{"name":"B","value":"${a}$","variables":{"a":{}}}]}]}}`), "${HOME}")
	f.Add([]byte(`{"server":{"name":"a.b/c","version":"1","remotes":[{"type":"sse","url":"https://h/{v}","variables":{"v":{}},"headers":[{"name":"A","value":"$${t}","variables":{"t":{"isSecret":true}}}]}]}}`), "x")
	f.Fuzz(func(t *testing.T, data []byte, answer string) {
		var rec Record
		if parseStrict(data, &rec) != nil || rec.check() != nil {
			return
		}
		p, err := NewPlan(&rec, PlanOptions{Can: func(string) bool { return true }})
		if err != nil {
			return
		}
		answers := Answers{}
		for i := range p.Questions {
			answers.Set(&p.Questions[i], answer)
		}
		if Settle(p.Questions, answers) != nil {
			return
		}
		filled, err := p.Fill("n", answers)
		if err != nil {
			return
		}
		entry, err := filled.Entry.JSON()
		if err != nil {
			t.Fatal(err)
		}
		looked := func(name string) (string, bool) { t.Errorf("%s was looked up in %s", name, entry); return "", false }
		home := t.TempDir()
		cfg, err := config.Check(filepath.Join(home, "a.json"), fmt.Appendf(nil, `{"mcpServers":{"n":%s}}`, entry), config.LoadOptions{Home: home, WorkDir: home, System: home, LookupEnv: looked, Secrets: secretsOf(filled.Secrets)})
		if err != nil {
			return // the config file has stricter rules and refuses the entry
		}
		s := cfg.Schema(config.DefaultSchema).Server("n")
		if len(s.Missing) > 0 {
			t.Errorf("%v is missing in %s", s.Missing, entry)
		}
	})
}

type secretsOf map[string]string

func (s secretsOf) Get(name string) (string, error) {
	if v, ok := s[name]; ok {
		return v, nil
	}
	return "", secrets.ErrNoSecret
}
