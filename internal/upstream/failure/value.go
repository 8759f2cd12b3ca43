package failure

import (
	"errors"
	"fmt"
	"strings"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/mcp"
)

// A ValueError says that a user has not set a value that a server needs, or that
// the server refused the value.
type ValueError struct {
	Server, User string
	// Name is the name of the value; Description is its description in the
	// configuration.
	Name, Description string
	// Refused is the digest of the value that the server refused; empty if no
	// value was refused.
	Refused string
}

func (e *ValueError) Error() string { return e.In(i18n.English) }

// In returns the message in the given language.
func (e *ValueError) In(l i18n.Lang) string {
	what := e.Name
	if e.Description != "" {
		what += " (" + e.Description + ")"
	}
	if e.Refused != "" {
		return i18n.New("server %q refused the value that you set: %s. Set another one with: %s", "服务器 %q 拒绝了你设置的值：%s。重新设置：%s", e.Server, what, SetValue(e.Name, e.User)).In(l)
	}
	return i18n.New("server %q needs a value that each user sets: %s. Set yours with: %s", "服务器 %q 需要由每个用户自行设置的值：%s。设置方法：%s", e.Server, what, SetValue(e.Name, e.User)).In(l)
}

// SetValue returns the command that sets a value of a user.
func SetValue(name, user string) string {
	return i18n.Command("mcp-all-in-one", "secret", "set", name, "--user", user)
}

// Question returns the text that asks the user for the value.
func (e *ValueError) Question() string {
	what := e.Name
	if e.Description != "" {
		what = e.Description
	}
	if e.Refused != "" {
		return fmt.Sprintf("Server %q refused the value that you set: %s. Enter another one on the page of the gateway; the model does not see it.", e.Server, what)
	}
	return fmt.Sprintf("Server %q needs a value that each user sets: %s. Enter it on the page of the gateway; the model does not see it.", e.Server, what)
}

// Unwrap returns the error that a client gets.
func (e *ValueError) Unwrap() error { return mcp.Failure(mcp.ValueMissing, e.Server, e.Error()) }

// A WithoutValues says that a server does not work without per-user values, and
// why.
type WithoutValues struct {
	Names string
	Err   error
}

func (e *WithoutValues) Error() string { return e.In(i18n.English) }

// In returns the message in the given language.
func (e *WithoutValues) In(l i18n.Lang) string {
	return i18n.New("it works for users who have set %s; without that it says: %v", "仅供已设置 %s 的用户使用；未设置时：%v", e.Names, e.Err).In(l)
}

func (e *WithoutValues) Unwrap() error { return e.Err }

// LacksValues reports whether a connection could not be opened because values are
// missing.
func LacksValues(err error) bool {
	return errors.As(err, new(*ValueError)) || errors.As(err, new(*WithoutValues))
}

// A LockError says why mcp.lock does not allow a server to start.
type LockError struct{ Err error }

func (e *LockError) Error() string { return e.In(i18n.English) }

// In returns the message in the given language.
func (e *LockError) In(l i18n.Lang) string {
	return l.Of(e.Err)
}

func (e *LockError) Unwrap() error { return e.Err }

// IsLocked reports whether mcp.lock did not allow a server to start.
func IsLocked(err error) bool { return errors.As(err, new(*LockError)) }

// A MissingError names the variables that the configuration of a server needs and
// that are not set.
type MissingError struct{ Names []string }

func (e *MissingError) Error() string { return e.In(i18n.English) }

// In returns the message in the given language.
func (e *MissingError) In(l i18n.Lang) string {
	return i18n.New("not set: %s", "未定义的变量：%s", strings.Join(e.Names, ", ")).In(l)
}
