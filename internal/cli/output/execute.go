package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"text/template/parse"

	"mcp-all-in-one/internal/i18n"
)

// execute writes JSON with a template. It understands what text/template does, for
// values of JSON: objects, lists, texts, numbers, booleans and null. text/template
// itself finds methods by their names, so a program that has it keeps all exported
// methods of all its types: a tenth of this program.
func execute(t *parse.Tree, value any) (out []byte, err error) {
	x := &execution{vars: []binding{{"$", value}}}
	if t != nil {
		err = x.node(value, t.Root)
	}
	return x.out.Bytes(), err
}

type execution struct {
	out  bytes.Buffer
	vars []binding // the innermost last
}

type binding struct {
	name  string
	value any
}

// errBreak and errContinue leave the body of a loop. The parser refuses them
// elsewhere.
var errBreak, errContinue = i18n.Errorf("break", "break"), i18n.Errorf("continue", "continue")

func (x *execution) node(dot any, n parse.Node) error {
	switch n := n.(type) {
	case *parse.ListNode:
		for _, child := range n.Nodes {
			if err := x.node(dot, child); err != nil {
				return err
			}
		}
	case *parse.TextNode:
		x.out.Write(n.Text)
	case *parse.ActionNode:
		value, err := x.pipe(dot, n.Pipe)
		if err == nil && len(n.Pipe.Decl) == 0 {
			x.out.WriteString(written(value))
		}
		return err
	case *parse.IfNode:
		return x.branch(dot, &n.BranchNode, false)
	case *parse.WithNode:
		return x.branch(dot, &n.BranchNode, true)
	case *parse.RangeNode:
		return x.loop(dot, n)
	case *parse.BreakNode:
		return errBreak
	case *parse.ContinueNode:
		return errContinue
	case *parse.CommentNode:
	default:
		return i18n.Errorf("%s is not supported", "不支持 %s", n)
	}
	return nil
}

// branch executes an if or a with, which changes the dot.
func (x *execution) branch(dot any, n *parse.BranchNode, with bool) error {
	defer x.forget(len(x.vars))
	value, err := x.pipe(dot, n.Pipe)
	switch {
	case err != nil:
		return err
	case truth(value) && with:
		return x.node(value, n.List)
	case truth(value):
		return x.node(dot, n.List)
	case n.ElseList != nil:
		return x.node(dot, n.ElseList)
	}
	return nil
}

// forget drops the variables of a block.
func (x *execution) forget(mark int) { x.vars = x.vars[:mark] }

// loop executes the body of a range for each item, or the part after else if there
// is none. The members of an object come in the order of their names.
func (x *execution) loop(dot any, n *parse.RangeNode) error {
	defer x.forget(len(x.vars))
	mark := len(x.vars)
	decl := n.Pipe.Decl
	bare := *n.Pipe
	bare.Decl = nil
	value, err := x.pipe(dot, &bare)
	if err != nil {
		return err
	}
	var keys, items []any
	switch value := value.(type) {
	case nil:
	case []any:
		for i, item := range value {
			keys, items = append(keys, json.Number(strconv.Itoa(i))), append(items, item)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			keys, items = append(keys, key), append(items, value[key])
		}
	default:
		return i18n.Errorf("range over %s, which is neither a list nor an object", "range 的对象 %s 既不是列表也不是对象", written(value))
	}
	if len(items) == 0 && n.ElseList != nil {
		return x.node(dot, n.ElseList)
	}
	for i, item := range items {
		x.forget(mark)
		if len(decl) == 2 {
			x.vars = append(x.vars, binding{decl[0].Ident[0], keys[i]})
		}
		if len(decl) > 0 {
			x.vars = append(x.vars, binding{decl[len(decl)-1].Ident[0], item})
		}
		switch err := x.node(item, n.List); {
		case err == errBreak:
			return nil
		case err != nil && err != errContinue:
			return err
		}
	}
	return nil
}

// pipe returns the value of a pipeline, and stores it in the variables that it
// declares or assigns.
func (x *execution) pipe(dot any, n *parse.PipeNode) (value any, err error) {
	for i, cmd := range n.Cmds {
		var last []any
		if i > 0 {
			last = []any{value}
		}
		if value, err = x.command(dot, cmd, last); err != nil {
			return nil, err
		}
	}
	for _, v := range n.Decl {
		if !n.IsAssign {
			x.vars = append(x.vars, binding{v.Ident[0], value})
		} else if b := x.variable(v.Ident[0]); b != nil {
			b.value = value
		}
	}
	return value, nil
}

func (x *execution) variable(name string) *binding {
	for i := range slices.Backward(x.vars) {
		if x.vars[i].name == name {
			return &x.vars[i]
		}
	}
	return nil
}

// command calls a function, or returns the value of one argument. last is the value
// of the command before it in the pipeline.
func (x *execution) command(dot any, n *parse.CommandNode, last []any) (any, error) {
	name, ok := n.Args[0].(*parse.IdentifierNode)
	if !ok {
		if len(n.Args) > 1 || len(last) > 0 {
			return nil, i18n.Errorf("%s is not a function, but has arguments", "%s 不是函数，却带有参数", n.Args[0])
		}
		return x.argument(dot, n.Args[0])
	}
	var args []any
	for _, a := range n.Args[1:] {
		value, err := x.argument(dot, a)
		if err != nil {
			return nil, err
		}
		if args = append(args, value); name.Ident == "and" && !truth(value) || name.Ident == "or" && truth(value) {
			return value, nil // the rest is not evaluated
		}
	}
	value, err := functions[name.Ident](append(args, last...))
	if err != nil {
		return nil, i18n.Errorf("error calling %s: %w", "调用 %s 出错：%w", name.Ident, err)
	}
	return value, nil
}

func (x *execution) argument(dot any, n parse.Node) (any, error) {
	switch n := n.(type) {
	case *parse.DotNode:
		return dot, nil
	case *parse.NilNode:
		return nil, nil
	case *parse.BoolNode:
		return n.True, nil
	case *parse.StringNode:
		return n.Text, nil
	case *parse.NumberNode:
		if n.IsInt { // also a character
			return json.Number(strconv.FormatInt(n.Int64, 10)), nil
		}
		return json.Number(strconv.FormatFloat(n.Float64, 'g', -1, 64)), nil
	case *parse.FieldNode:
		return member(dot, n.Ident)
	case *parse.ChainNode:
		value, err := x.argument(dot, n.Node)
		if err != nil {
			return nil, err
		}
		return member(value, n.Field)
	case *parse.VariableNode:
		b := x.variable(n.Ident[0])
		if b == nil {
			return nil, i18n.Errorf("the variable %s is not defined", "变量 %s 未定义", n.Ident[0])
		}
		return member(b.value, n.Ident[1:])
	case *parse.PipeNode:
		return x.pipe(dot, n)
	case *parse.IdentifierNode:
		return functions[n.Ident](nil)
	}
	return nil, i18n.Errorf("%s is not supported", "不支持 %s", n)
}

// member returns a member of an object, of a member of it, and so on. An absent one
// is nil.
func member(value any, names []string) (any, error) {
	for _, name := range names {
		object, ok := value.(map[string]any)
		if !ok {
			return nil, i18n.Errorf("can't evaluate field %s in %s", "无法在 %[2]s 中取字段 %[1]s", name, written(value))
		}
		value = object[name]
	}
	return value, nil
}

// truth reports whether a value is neither absent nor empty nor zero.
func truth(value any) bool {
	switch value := value.(type) {
	case bool:
		return value
	case string:
		return value != ""
	case json.Number:
		f, err := value.Float64()
		return err != nil || f != 0
	case []any:
		return len(value) > 0
	case map[string]any:
		return len(value) > 0
	}
	return value != nil
}

// written returns a value as text.
func written(value any) string {
	if value == nil {
		return "<no value>"
	}
	return fmt.Sprint(value)
}
