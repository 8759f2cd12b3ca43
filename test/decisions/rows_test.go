package decisions

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestEveryRuleAndDoorHasARow checks in the source of the gateway that the
// table contains every rule of its list and every door of its record.
func TestEveryRuleAndDoorHasARow(t *testing.T) {
	t.Run("rules", func(t *testing.T) {
		var shown []string
		for _, d := range decisions {
			if d.rule != "" && !slices.Contains(shown, d.rule) {
				shown = append(shown, d.rule)
			}
		}
		if made := rules(t, "../../internal/gateway/authorize.go"); !slices.Equal(made, shown) {
			t.Errorf("the gateway decides %v, and the rows show, in their order, %v; add the missing ones to table_test.go", made, shown)
		}
	})
	t.Run("doors", func(t *testing.T) {
		for name, via := range recordedDoors(t) {
			known := slices.ContainsFunc(doors[:], func(d door) bool { return d.via == via })
			if !known && used(t, name) {
				t.Errorf("calls come in by the door %q, which has no row; add one to doors_test.go", via)
			}
		}
	})
}

// rules returns the names in the list of decisions, in order.
func rules(t *testing.T, path string) (names []string) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Names[0].Name != "decisions" || len(spec.Values) != 1 {
			return true
		}
		list, ok := spec.Values[0].(*ast.CompositeLit)
		if !ok {
			return true
		}
		for _, row := range list.Elts {
			name, err := strconv.Unquote(row.(*ast.CompositeLit).Elts[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, name)
		}
		return false
	})
	if len(names) == 0 {
		t.Fatalf("there is no list of decisions in %s", path)
	}
	return names
}

var doorConstant = regexp.MustCompile(`(?m)^\t(Door\w+)\s+Door = "(\w+)"`)

// recordedDoors returns the doors of the record, by their constants.
func recordedDoors(t *testing.T) map[string]string {
	text, err := os.ReadFile("../../internal/traffic/traffic.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, m := range doorConstant.FindAllStringSubmatch(string(text), -1) {
		found[m[1]] = m[2]
	}
	if len(found) == 0 {
		t.Fatal("the record knows no doors")
	}
	return found
}

// used reports whether the product uses a door for calls.
func used(t *testing.T, constant string) (found bool) {
	err := filepath.WalkDir("../../internal", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		found = found || strings.Contains(string(text), "traffic."+constant)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
