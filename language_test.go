package main_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// spokenElsewhere are the errors that are not shown to a person in our words,
// with the reason.
var spokenElsewhere = map[string]string{
	"access.Refusal":              "it goes over the wire",
	"builtin.missingError":        "it goes over the wire, in the words that its clients know",
	"builtin/selfconfig.go":       "it goes over the wire, in the words that its clients know",
	"builtin/selfconfig_write.go": "it goes over the wire, in the words that its clients know",
	"cli/program/proxy.go":        "the words of an earlier program, translated before",
	"stdio/launcher_unix.go":      "the words of the other process",
}

// TestErrorsAreInBothLanguages checks in the source that errors are made with
// i18n.Errorf, in both languages, and that error types have both languages.
// Commands know their language and may use T.
func TestErrorsAreInBothLanguages(t *testing.T) {
	texts := 0
	errorTypes, speakers := map[string]token.Position{}, map[string]bool{}
	files := token.NewFileSet()
	for name, file := range sources(t, files) {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if of := receiver(n); of != "" {
					of = filepath.Dir(name) + "." + of
					if isMethod(n, "Error", "string") && len(n.Type.Params.List) == 0 {
						errorTypes[of] = files.Position(n.Pos())
					}
					speakers[of] = speakers[of] || n.Name.Name == "In"
				}
			case *ast.CallExpr:
				texts += checkCall(t, files, name, n)
			}
			return true
		})
	}
	for of, at := range errorTypes {
		if !speakers[of] && spokenElsewhere[of] == "" {
			t.Errorf("%s: %s has no method In(i18n.Lang) string", at, of)
		}
	}
	if texts < 300 {
		t.Errorf("found only %d texts; the test looks at the wrong place", texts)
	}
}

// sources returns the files of the product below internal.
func sources(t *testing.T, files *token.FileSet) map[string]*ast.File {
	t.Helper()
	list := map[string]*ast.File{}
	err := filepath.WalkDir("internal", func(path string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(filepath.ToSlash(path), "internal/")
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "mcptest/") || strings.HasPrefix(name, "i18n/") {
			return err
		}
		list[name], err = parser.ParseFile(files, path, nil, 0)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) != 1 {
		return ""
	}
	of := f.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	name, _ := of.(*ast.Ident)
	if name == nil {
		return ""
	}
	return name.Name
}

func isMethod(f *ast.FuncDecl, name, result string) bool {
	if f.Name.Name != name || f.Type.Results == nil || len(f.Type.Results.List) != 1 {
		return false
	}
	got, _ := f.Type.Results.List[0].Type.(*ast.Ident)
	return got != nil && got.Name == result
}

// bilingual are the functions, besides those of package i18n, that take a text
// in both languages, and the position of the text in their arguments.
var bilingual = map[string]int{
	"i18n.New": 0, "i18n.Errorf": 0, "untrusted": 0, "refuse": 0, "startError": 2, "when": 1, "arguments": 1,
	"m.note": 0, "m.fail": 0, "p.report": 2, "j.fail": 0,
}

// checkCall returns the number of texts in a call.
func checkCall(t *testing.T, files *token.FileSet, name string, call *ast.CallExpr) int {
	called := nameOf(call.Fun)
	at := files.Position(call.Pos())
	switch called {
	case "fmt.Errorf", "errors.New":
		if inner, ok := call.Args[0].(*ast.CallExpr); ok && strings.HasSuffix(nameOf(inner.Fun), ".T") {
			return 0
		}
		if spokenElsewhere[name] == "" {
			t.Errorf("%s: %s makes an error in one language; use i18n.Errorf", at, called)
		}
		return 0
	case "env.Fail":
		checkFormat(t, at, call)
		return 0
	}
	first, ok := bilingual[called]
	if !ok || len(call.Args) < first+2 {
		return 0
	}
	en, isText := literal(call.Args[first])
	zh, both := literal(call.Args[first+1])
	if !isText || !both {
		return 0 // the text comes from a variable
	}
	if hasWords(en) && !strings.ContainsFunc(zh, isHan) && (sentence.MatchString(en) || strings.ReplaceAll(zh, "：", ": ") != en) {
		t.Errorf("%s: %q is not in Chinese: %q", at, en, zh)
	}
	if got, want := verbs(zh), verbs(en); !slices.Equal(got, want) {
		t.Errorf("%s: %q has the values %v, %q has %v", at, en, want, zh, got)
	}
	return 1
}

// sentence distinguishes a text from a name, which is not translated.
var sentence = regexp.MustCompile(`[a-z]+ [a-z]+`)

// checkFormat checks that the format of a command's fail has no words: they
// belong in its arguments.
func checkFormat(t *testing.T, at token.Position, call *ast.CallExpr) {
	if len(call.Args) < 4 {
		return
	}
	if format, ok := literal(call.Args[3]); ok && hasWords(names.ReplaceAllString(format, "")) {
		t.Errorf("%s: the words of %q are in one language", at, format)
	}
}

// names are names of flags and members, which are not translated.
var names = regexp.MustCompile(`--?[a-z-]+|structuredContent`)

func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return nameOf(e.X) + "." + e.Sel.Name
	}
	return ""
}

func literal(e ast.Expr) (string, bool) {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(l.Value)
	return s, err == nil
}

var verb = regexp.MustCompile(`%(?:\[(\d)\])?([-+#0-9.]*[a-zA-Z])`)

func isHan(r rune) bool { return unicode.Is(unicode.Han, r) }

// hasWords reports whether a text has words to translate besides the values.
func hasWords(s string) bool {
	return strings.ContainsFunc(verb.ReplaceAllString(s, ""), unicode.IsLetter)
}

// verbs returns the values of a format in the order of the arguments.
func verbs(format string) []string {
	var list []string
	for i, m := range verb.FindAllStringSubmatch(strings.ReplaceAll(format, "%%", ""), -1) {
		number := m[1]
		if number == "" {
			number = strconv.Itoa(i + 1)
		}
		list = append(list, number+strings.NewReplacer("s", "v", "w", "v").Replace(m[2]))
	}
	slices.Sort(list)
	return list
}

// decoded matches words for which a reader has to ask "who?" or "what?".
var decoded = regexp.MustCompile(`(?i)\b(whoever|whomever|those who|nobody|somebody|anew)\b`)

// TestCommentsNameThings checks that comments name the client, server or file
// that they are about.
func TestCommentsNameThings(t *testing.T) {
	if !decoded.MatchString("// it is called when nobody waits") {
		t.Fatal("the test finds nothing")
	}
	err := filepath.WalkDir("internal", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, group := range file.Comments {
			for _, c := range group.List {
				if word := decoded.FindString(c.Text); word != "" {
					t.Errorf("%s: %q: say who or what it is", files.Position(c.Pos()), word)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
