// Package i18n holds what the program tells people, in English and Simplified
// Chinese.
//
// A text is written in both languages where it is made, with the values that
// belong into it. Its English is what programs read: Error, String and JSON.
// Whoever speaks to a person chooses the language at the edge: In, or Lang.Of
// for any error. The package refuses to know which language somebody reads.
package i18n

import (
	"errors"
	"fmt"
	"strings"
)

// A Lang is a language that a person reads.
type Lang uint8

// The languages.
const (
	English Lang = iota
	Chinese
)

// ByTag is the language of a tag such as zh-CN, zh_CN.UTF-8 or the value of
// Accept-Language; English when it is none of ours.
func ByTag(tag string) Lang {
	if strings.HasPrefix(strings.ToLower(tag), "zh") {
		return Chinese
	}
	return English
}

// Tag is the language as Accept-Language has it.
func (l Lang) Tag() string {
	return [...]string{"en", "zh-CN"}[l]
}

// A Speaker is said in either language. Errors that are types of their own
// are Speakers.
type Speaker interface {
	In(l Lang) string
}

// A Text is a sentence with its values. The zero Text says nothing.
type Text struct {
	en, zh string
	args   []any
}

// New is a text in both languages; args belong to both, as for fmt.Sprintf.
func New(en, zh string, args ...any) Text { return Text{en, zh, args} }

// Plain is a text from outside, which is the same in every language.
func Plain(text string) Text { return Text{"%s", "%s", []any{text}} }

// Pair is a text that was put together in each language.
func Pair(en, zh string) Text { return Text{"%[1]s", "%[2]s", []any{en, zh}} }

// Empty says that there is nothing to say.
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
	// A cause is said like any other value; only Errorf keeps it.
	return fmt.Sprintf(strings.ReplaceAll(pattern, "%w", "%v"), spoken...)
}

// Both returns the text in both languages, for data that is kept, or read by
// somebody whose language is not known yet: a field x and a field xZH.
func (t Text) Both() (en, zh string) { return t.In(English), t.In(Chinese) }

// Both returns texts in both languages.
func Both(texts []Text) (en, zh []string) {
	for _, t := range texts {
		en, zh = append(en, t.In(English)), append(zh, t.In(Chinese))
	}
	return en, zh
}

// Errorf is an error in both languages. %w wraps as it does for fmt.Errorf.
func Errorf(en, zh string, args ...any) error {
	return &failure{fmt.Errorf(en, args...), Text{en, zh, args}}
}

// A failure is an error whose English is said already: its values may be gone
// or changed when somebody asks.
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

// Why is an error as a text; empty for nil.
func Why(err error) Text {
	if err == nil {
		return Text{}
	}
	return New("%v", "%v", err)
}

// Of returns an error in a language: that of ours, what we know of the errors
// of the system and the standard library, or the error's own words.
func (l Lang) Of(err error) string {
	if l == English {
		return err.Error()
	}
	// Only the error itself is asked: what it wraps would say too little.
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
