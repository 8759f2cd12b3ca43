// Package i18n contains texts for people in English and Simplified Chinese.
//
// A text is written in both languages where it is created, together with its
// values. Programs read the English version: Error, String and JSON. The code
// that talks to a person chooses the language at the edge, with In, or with
// Lang.Of for any error. The package does not know which language a person
// reads.
package i18n

import (
	"errors"
	"fmt"
	"strings"
)

// A Lang is a language of texts.
type Lang uint8

// The languages.
const (
	English Lang = iota
	Chinese
)

// ByTag returns the language of a tag such as zh-CN, zh_CN.UTF-8 or the value
// of Accept-Language; English if it is not supported.
func ByTag(tag string) Lang {
	if strings.HasPrefix(strings.ToLower(tag), "zh") {
		return Chinese
	}
	return English
}

// Tag returns the language tag for Accept-Language.
func (l Lang) Tag() string {
	return [...]string{"en", "zh-CN"}[l]
}

// A Speaker has a text in each language. Errors with their own types implement
// it.
type Speaker interface {
	In(l Lang) string
}

// A Text is a sentence with its values. The zero Text is empty.
type Text struct {
	en, zh string
	args   []any
}

// New returns a text in both languages. args apply to both, as for fmt.Sprintf.
func New(en, zh string, args ...any) Text { return Text{en, zh, args} }

// Plain returns a text from outside, which is the same in every language.
func Plain(text string) Text { return Text{"%s", "%s", []any{text}} }

// Pair returns a text that was formatted in each language.
func Pair(en, zh string) Text { return Text{"%[1]s", "%[2]s", []any{en, zh}} }

// Empty reports whether the text is empty.
func (t Text) Empty() bool { return t.en == "" }

// In returns the text in a language.
func (t Text) In(l Lang) string {
	if l == English {
		return format(t.en, l, t.args)
	}
	return format(t.zh, l, t.args)
}

// String returns the text in English.
func (t Text) String() string { return t.In(English) }

// MarshalText returns the text in English.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

func format(pattern string, l Lang, args []any) string {
	if len(args) == 0 {
		return strings.ReplaceAll(pattern, "%%", "%")
	}
	spoken := make([]any, len(args))
	for i, arg := range args {
		spoken[i] = arg
		switch v := arg.(type) {
		case Speaker:
			spoken[i] = v.In(l)
		case error:
			spoken[i] = l.Of(v)
		}
	}
	// A cause is formatted like any other value; only Errorf wraps it.
	return fmt.Sprintf(strings.ReplaceAll(pattern, "%w", "%v"), spoken...)
}

// Both returns the text in both languages, for data that is stored or whose
// reader's language is not known yet: a field x and a field xZH.
func (t Text) Both() (en, zh string) { return t.In(English), t.In(Chinese) }

// Both returns texts in both languages.
func Both(texts []Text) (en, zh []string) {
	for _, t := range texts {
		en, zh = append(en, t.In(English)), append(zh, t.In(Chinese))
	}
	return en, zh
}

// Errorf returns an error in both languages. %w wraps as in fmt.Errorf.
func Errorf(en, zh string, args ...any) error {
	return &failure{fmt.Errorf(en, args...), Text{en, zh, args}}
}

// A failure is an error whose English text is formatted immediately, because
// its values may change later.
type failure struct {
	english error
	text    Text
}

func (e *failure) Error() string { return e.english.Error() }

func (e *failure) Unwrap() error { return e.english }

func (e *failure) In(l Lang) string {
	if l == English {
		return e.english.Error()
	}
	return e.text.In(l)
}

// Why returns an error as a text; empty for nil.
func Why(err error) Text {
	if err == nil {
		return Text{}
	}
	return New("%v", "%v", err)
}

// Of returns an error in a language: our own translation, a translation of a
// known error of the system or the standard library, or the error's own text.
func (l Lang) Of(err error) string {
	if l == English {
		return err.Error()
	}
	// Only the error itself is used: the errors that it wraps say too little.
	if spoken, ok := err.(Speaker); ok {
		return spoken.In(l)
	}
	if list, ok := err.(interface{ Unwrap() []error }); ok && err.Error() == errors.Join(list.Unwrap()...).Error() {
		lines := make([]string, 0, len(list.Unwrap()))
		for _, e := range list.Unwrap() {
			lines = append(lines, l.Of(e))
		}
		return strings.Join(lines, "\n")
	}
	return chinese(err)
}
