package main_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"
)

// guarded are the functions that send bytes to a server, and the places that
// may use them, as package or package/file.
var guarded = map[string][]string{
	"upstream.Upstream.Call":      {"gateway/send.go"},
	"upstream.Upstream.Subscribe": {"gateway/send.go"},
	"upstream.Upstream.Notify":    {"gateway/send.go"},
	"upstream.Upstream.SetLevel":  {"gateway/send.go"},
	"upstream.Upstream.WatchTask": {"gateway/send.go"},
	// A sign of life asks nothing of a client's.
	"upstream.Ping": {"daemon/console/servers.go"},
	// The tester connects to servers itself; in the console only administrators
	// may use it.
	"mcphttp/httpclient.NewClient": {"probe"},
	"mcphttp/httpclient.DialSSE":   {"probe"},
	// Scripts run in processes of our own program.
	"stdio.Launcher.Start": {"probe", "script"},
}

// A product is the packages below internal, with their types.
type product []*packages.Package

var wholeProduct = sync.OnceValues(func() (product, error) {
	return packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedExportFile,
	}, "./internal/...")
})

func load(t *testing.T) product {
	t.Helper()
	all, err := wholeProduct()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Import returns a package, or one that a package imports.
func (all product) Import(path string) (*types.Package, error) {
	for _, p := range all {
		if p.PkgPath == path {
			return p.Types, nil
		}
		if imported := p.Imports[path]; imported != nil && imported.Types != nil {
			return imported.Types, nil
		}
	}
	return nil, fmt.Errorf("no package %s", path)
}

// TestOneDoor checks in the source that only gateway/send.go calls servers, and
// that send is called only after authorization.
func TestOneDoor(t *testing.T) {
	found, used := load(t).violations(t)
	for _, v := range found {
		t.Error(v)
	}
	for name := range guarded {
		if !used[name] {
			t.Errorf("nothing uses %s any more", name)
		}
	}
}

// TestOneDoorFindsViolations checks a file that calls a server from another
// place.
func TestOneDoorFindsViolations(t *testing.T) {
	const planted = `package web
import ("context"; "mcp-all-in-one/internal/jsonrpc"; "mcp-all-in-one/internal/upstream")
func planted(u *upstream.Upstream) { u.Call(context.Background(), nil, &jsonrpc.Request{}) }
func plantedValue(u *upstream.Upstream) any { return u.Subscribe }
`
	web := &packages.Package{PkgPath: module + "/internal/web", Fset: token.NewFileSet(), TypesInfo: &types.Info{Uses: map[*ast.Ident]types.Object{}}}
	file, err := parser.ParseFile(web.Fset, "planted.go", planted, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&types.Config{Importer: load(t)}).Check(web.PkgPath, web.Fset, []*ast.File{file}, web.TypesInfo); err != nil {
		t.Fatal(err)
	}
	found, _ := product{web}.violations(t)
	want := []string{"web/planted.go uses upstream.Upstream.Call", "web/planted.go uses upstream.Upstream.Subscribe"}
	if !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
}

// violations returns the uses of guarded functions in packages that may not use
// them, and which guarded functions are used at all.
func (all product) violations(t *testing.T) (found []string, used map[string]bool) {
	t.Helper()
	used = make(map[string]bool)
	seen := make(map[string]bool)
	for _, p := range all {
		for _, err := range p.Errors {
			t.Fatalf("%s: %v", p.PkgPath, err)
		}
		pkg := strings.TrimPrefix(p.PkgPath, module+"/internal/")
		for id, object := range p.TypesInfo.Uses {
			name := guardedName(object)
			if name == "" || strings.HasPrefix(name, pkg+".") {
				continue
			}
			used[name] = true
			file := pkg + "/" + filepath.Base(p.Fset.Position(id.Pos()).Filename)
			if slices.Contains(guarded[name], pkg) || slices.Contains(guarded[name], file) || pkg == "upstream" && !strings.HasPrefix(name, "upstream.") || isTestSupport(pkg) {
				continue
			}
			seen[file+" uses "+name] = true
		}
	}
	return slices.Sorted(maps.Keys(seen)), used
}

// isTestSupport reports whether a package is never linked into the gateway
// itself.
func isTestSupport(pkg string) bool { return pkg == "mcptest" || strings.HasPrefix(pkg, "mcptest/") }

// guardedName returns the name of a function in guarded; empty for any other
// object.
func guardedName(object types.Object) string {
	f, ok := object.(*types.Func)
	if !ok || f.Pkg() == nil || !strings.HasPrefix(f.Pkg().Path(), module+"/internal/") {
		return ""
	}
	name := strings.TrimPrefix(f.Pkg().Path(), module+"/internal/") + "."
	if recv := f.Signature().Recv(); recv != nil {
		of := recv.Type()
		if p, ok := of.(*types.Pointer); ok {
			of = p.Elem()
		}
		named, ok := of.(*types.Named)
		if !ok {
			return ""
		}
		name += named.Obj().Name() + "."
	}
	name += f.Name()
	if _, ok := guarded[name]; !ok {
		return ""
	}
	return name
}

// TestSendIsAuthorized checks in the source of gateway that send is called only
// by attempt, right after authorize, and that a listener, and what it is told,
// is authorized likewise.
// The functions that send uses are called only in the same file.
func TestSendIsAuthorized(t *testing.T) {
	list, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax}, "./internal/gateway")
	if err != nil {
		t.Fatal(err)
	}
	callers := map[string][]string{}
	for _, file := range list[0].Syntax {
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				switch name := sel.Sel.Name; name {
				case "send", "authorize":
					callers[name] = append(callers[name], f.Name.Name)
				case "perform", "exchange", "callServer", "translator", "bridgeOf":
					if in := filepath.Base(list[0].Fset.Position(sel.Pos()).Filename); in != "send.go" {
						t.Errorf("%s in %s uses %s", f.Name.Name, in, name)
					}
				}
				return true
			})
		}
	}
	// attempt calls send directly, or in a task; both after authorize.
	if got := slices.Compact(callers["send"]); !slices.Equal(got, []string{"attempt"}) {
		t.Errorf("send is called by %q", got)
	}
	slices.Sort(callers["authorize"])
	if got := callers["authorize"]; !slices.Equal(got, []string{"allowed", "answer", "attempt", "hears", "listen"}) {
		t.Errorf("authorize is called by %q", got)
	}
}
