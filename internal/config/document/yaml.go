package document

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	yamlerrors "github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/i18n"
)

// maxAliased is the maximum number of values that the aliases of a file may
// expand to.
const maxAliased = 10_000

// parseYAML reads one YAML document. It returns nil if it has reported a
// problem.
func parseYAML(data []byte, c *problem.List) *Node {
	file, err := yamlFile(data)
	if err != nil {
		at, text := yamlError(err)
		if errors.Is(err, errYAMLDepth) {
			c.Add(problem.SeverityError, at, "", problem.Depth, maxDepth)
			return nil
		}
		c.Add(problem.SeverityError, at, "", problem.Syntax, text)
		return nil
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		if body != nil {
			c.Add(problem.SeverityError, yamlPos(doc.Body), "", problem.Syntax, i18n.New("a second document starts here; a file holds one", "此处开始了第二个文档；一个文件只能有一个文档"))
			return nil
		}
		body = doc.Body
	}
	if body == nil {
		c.Add(problem.SeverityError, problem.Pos{Line: 1, Col: 1}, "", problem.Empty)
		return nil
	}
	y := yamlReader{c: c, anchors: map[string]anchor{}}
	n, _ := y.node(body, "")
	if y.aliased > maxAliased {
		c.Add(problem.SeverityError, y.bomb, "", problem.Aliases, maxAliased)
		return nil
	}
	return n
}

// yamlPlaceError is an error of this package with a position.
type yamlPlaceError struct {
	at  problem.Pos
	err error
}

func (e *yamlPlaceError) Error() string { return e.err.Error() }
func (e *yamlPlaceError) Unwrap() error { return e.err }

func (e *yamlPlaceError) In(l i18n.Lang) string { return l.Of(e.err) }

// yamlFile parses data. The third-party parser has panicked on odd input
// before, and a file must never crash the process.
func yamlFile(data []byte) (file *ast.File, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &yamlPlaceError{problem.Pos{Line: 1, Col: 1}, i18n.Errorf("the YAML parser gave up: %v", "YAML 解析器无法继续：%v", r)}
		}
	}()
	tokens := lexer.Tokenize(string(data))
	if err := boundYAML(tokens); err != nil {
		return nil, err
	}
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
}

// yamlError extracts the position from the parser's error.
func yamlError(err error) (problem.Pos, i18n.Text) {
	if ours, ok := errors.AsType[*yamlPlaceError](err); ok {
		return ours.at, i18n.Why(ours.err)
	}
	if theirs, ok := errors.AsType[yamlerrors.Error](err); ok {
		at := problem.Pos{Line: 1, Col: 1}
		if t := theirs.GetToken(); t != nil && t.Position != nil {
			at = problem.Pos{Line: max(t.Position.Line, 1), Col: max(t.Position.Column, 1)}
		}
		return at, i18n.Plain(theirs.GetMessage())
	}
	return problem.Pos{Line: 1, Col: 1}, i18n.Plain(err.Error())
}

func yamlPos(n ast.Node) problem.Pos {
	switch t := n.(type) {
	case *ast.MappingNode:
		if !t.IsFlowStyle && len(t.Values) > 0 {
			return yamlPos(t.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return yamlPos(t.Key)
	}
	tk := n.GetToken()
	if tk == nil || tk.Position == nil {
		return problem.Pos{Line: 1, Col: 1}
	}
	return problem.Pos{Line: max(tk.Position.Line, 1), Col: max(tk.Position.Column, 1)}
}

// anchor is a value that aliases repeat, and the number of values in it.
type anchor struct {
	n    *Node
	size int
}

// yamlReader converts the parser's tree to Nodes.
type yamlReader struct {
	c       *problem.List
	anchors map[string]anchor
	aliased int
	bomb    problem.Pos
}

// node converts one value. size is the number of values it expands to.
func (y *yamlReader) node(v ast.Node, path string) (n *Node, size int) {
	n = &Node{Pos: yamlPos(v)}
	switch t := v.(type) {
	case *ast.MappingNode:
		return n, 1 + y.object(n, t.Values, path)
	case *ast.MappingValueNode:
		return n, 1 + y.object(n, []*ast.MappingValueNode{t}, path)
	case *ast.SequenceNode:
		n.Kind, size = KindArray, 1
		for i, e := range t.Values {
			item, s := y.node(e, path+"["+strconv.Itoa(i)+"]")
			n.Items, size = append(n.Items, item), size+s
		}
		return n, size
	case *ast.AnchorNode:
		a, s := y.node(t.Value, path)
		y.anchors[t.Name.GetToken().Value] = anchor{a, s}
		return a, s
	case *ast.AliasNode:
		return y.alias(n, t, path)
	case *ast.TagNode:
		a, s := y.node(t.Value, path)
		if t.Start.Value == string(token.StringTag) && a.Kind <= KindNumber {
			a.Kind, a.Text = KindString, a.Raw
		}
		return a, s
	}
	y.scalar(n, v, path)
	return n, 1
}

func (y *yamlReader) alias(n *Node, t *ast.AliasNode, path string) (*Node, int) {
	name := t.Value.GetToken().Value
	a, ok := y.anchors[name]
	if !ok {
		y.c.Add(problem.SeverityError, n.Pos, path, problem.Syntax, i18n.New("no anchor stands before alias *%s", "别名之前没有锚点：*%s", name))
		return n, 1
	}
	y.aliased += a.size
	if y.aliased > maxAliased {
		if y.bomb.Line == 0 {
			y.bomb = n.Pos
		}
		return n, 1
	}
	return a.n, a.size
}

func (y *yamlReader) object(n *Node, values []*ast.MappingValueNode, path string) (size int) {
	n.Kind = KindObject
	seen := make(map[string]problem.Pos, len(values))
	var merged []Member
	for _, mv := range values {
		if _, ok := mv.Key.(*ast.MergeKeyNode); ok {
			m, s := y.merge(mv, path)
			merged, size = append(merged, m...), size+s
			continue
		}
		key, at := yamlKey(mv.Key), yamlPos(mv.Key)
		child := Join(path, key)
		if first, dup := seen[key]; dup {
			y.c.Add(problem.SeverityError, at, child, problem.Duplicate, key, first.Line, first.Col)
			continue
		}
		seen[key] = at
		value, s := y.node(mv.Value, child)
		n.Members, size = append(n.Members, Member{at, key, value}), size+s
	}
	for _, m := range merged {
		if _, ok := seen[m.Key]; !ok {
			seen[m.Key] = m.Pos
			n.Members = append(n.Members, m)
		}
	}
	return size
}

// merge returns the members that a << key adds.
func (y *yamlReader) merge(mv *ast.MappingValueNode, path string) ([]Member, int) {
	v, size := y.node(mv.Value, path)
	switch v.Kind {
	case KindObject:
		return v.Members, size
	case KindArray:
		var all []Member
		for _, item := range v.Items {
			all = append(all, item.Members...)
		}
		return all, size
	}
	y.c.Add(problem.SeverityError, yamlPos(mv.Key), path, problem.Syntax, i18n.New("<< needs an alias of an object", "<< 之后应为对象的别名"))
	return nil, size
}

func yamlKey(k ast.MapKeyNode) string {
	if e, ok := k.(*ast.MappingKeyNode); ok && e.Value != nil {
		return e.Value.GetToken().Value
	}
	return k.GetToken().Value
}

func (y *yamlReader) scalar(n *Node, v ast.Node, path string) {
	if tk := v.GetToken(); tk != nil {
		n.Raw = tk.Value
	}
	switch t := v.(type) {
	case *ast.StringNode:
		n.Kind, n.Text, n.Raw = KindString, t.Value, t.Value
	case *ast.LiteralNode:
		n.Kind, n.Text, n.Raw = KindString, t.Value.Value, t.Value.Value
	case *ast.BoolNode:
		n.Kind, n.Text = KindBool, strconv.FormatBool(t.Value)
	case *ast.IntegerNode:
		n.Kind, n.Text = KindNumber, fmt.Sprint(t.Value)
	case *ast.FloatNode:
		n.Kind, n.Text = KindNumber, strconv.FormatFloat(t.Value, 'g', -1, 64)
		if math.IsInf(t.Value, 0) {
			n.Kind, n.Text = KindString, n.Raw
		}
	case *ast.NullNode:
		n.Kind, n.Text = KindNull, ""
	case *ast.InfinityNode, *ast.NanNode:
		n.Kind, n.Text = KindString, n.Raw
	default:
		y.c.Add(problem.SeverityError, n.Pos, path, problem.Syntax, i18n.New("cannot be used here: %s", "此处不能使用：%s", v.Type()))
	}
}
