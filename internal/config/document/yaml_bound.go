package document

import (
	"github.com/goccy/go-yaml/token"

	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/i18n"
)

// maxKeys is the maximum number of keys of one YAML object: the parser's time
// grows with their square.
const maxKeys = 20_000

var (
	errYAMLDepth = i18n.Errorf("nested too deep", "嵌套过深")
	errYAMLKeys  = i18n.Errorf("an object with more than 20,000 keys; write it as JSON", "对象的键超过 20,000 个；请改用 JSON")
)

// yamlLevel is one level of nesting: a bracket, or in block style a column.
type yamlLevel struct {
	flow bool
	col  int
	keys int
}

// boundYAML refuses input that would make the parser recurse too deep or run
// too long. The parser recurses without a limit, so this check must come first.
func boundYAML(tokens token.Tokens) error {
	levels := []yamlLevel{{}}
	for i, t := range tokens {
		top := &levels[len(levels)-1]
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			levels = append(levels, yamlLevel{flow: true})
		case token.SequenceEndType, token.MappingEndType:
			if top.flow {
				levels = levels[:len(levels)-1]
			}
		case token.SequenceEntryType, token.MappingKeyType, token.MappingValueType, token.TagType, token.AnchorType:
			if !top.flow {
				levels = blockLevel(levels, startColumn(tokens, i))
			}
			if t.Type == token.MappingValueType {
				levels[len(levels)-1].keys++
			}
		}
		at := problem.Pos{Line: max(t.Position.Line, 1), Col: max(t.Position.Column, 1)}
		if len(levels) > 2*maxDepth {
			return &yamlPlaceError{at, errYAMLDepth}
		}
		if levels[len(levels)-1].keys > maxKeys {
			return &yamlPlaceError{at, errYAMLKeys}
		}
	}
	return nil
}

// startColumn returns the start column of the element that a token belongs to:
// a colon belongs to its key.
func startColumn(tokens token.Tokens, i int) int {
	if tokens[i].Type == token.MappingValueType && i > 0 && tokens[i-1].Position.Line == tokens[i].Position.Line {
		i--
	}
	return tokens[i].Position.Column
}

// blockLevel closes the levels that start to the right of col, and opens a
// level at col unless it is open.
func blockLevel(levels []yamlLevel, col int) []yamlLevel {
	for len(levels) > 1 && !levels[len(levels)-1].flow && levels[len(levels)-1].col > col {
		levels = levels[:len(levels)-1]
	}
	if top := levels[len(levels)-1]; !top.flow && top.col == col {
		return levels
	}
	return append(levels, yamlLevel{col: col})
}
