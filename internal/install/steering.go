package install

import (
	"mcp-all-in-one/internal/config/steering"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/lazy"
)

var envName = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_]*$`)

// checkEnvName refuses variables that control what programs load, but not those
// that a person may set.
func checkEnvName(name string) error {
	if !envName().MatchString(name) {
		return fail(env.CodeSteers, "sets %s, which is not a name of a variable: refused", "设置了 %s，它不是变量名：已拒绝", Show(name))
	}
	if why := steering.Why(name); !why.Empty() && steering.Asked(name).Empty() {
		return &Error{Code: env.CodeSteers, Text: i18n.New("sets %s, which %v: refused", "设置了 %s，它%v：已拒绝", name, why)}
	}
	return nil
}

// setsItself returns the error for a value of a variable that only a person may
// set.
func setsItself(name string) error {
	return &Error{Code: env.CodeSteers, Text: i18n.New("sets %s itself, which %v: only what you type is taken", "自行设置了 %s，它%v：只接受您输入的值", name, steering.Asked(name))}
}

// variable plans a variable of the server.
func (p *Plan) variable(name string, in input) error {
	if err := checkEnvName(name); err != nil {
		return err
	}
	t, err := p.template(in, KindEnv, name)
	if err != nil {
		return err
	}
	p.env = append(p.env, setting{name, t})
	if steering.Asked(name).Empty() {
		return nil
	}
	for _, piece := range t {
		if piece.text != "" {
			return setsItself(name)
		}
		for i := range p.Questions {
			if q := &p.Questions[i]; piece.question != nil && q.ID == piece.question.ID && q.Kind == KindEnv {
				q.leaveOpen()
			}
		}
	}
	return nil
}
