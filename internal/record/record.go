// Package record holds small texts that several writers change: keys, approvals,
// pins. Alone a gateway keeps each in a file. Replicas share them, and each
// keeps a copy in the same file, so that it goes on with what it knows.
package record

import (
	"time"

	"mcp-all-in-one/internal/i18n"
)

// A Document is a text that others may change at any time.
type Document interface {
	// Read returns the text as it is known here; nil when there is none.
	Read() ([]byte, error)
	// Change writes what edit makes of the text, alone among all writers. Where
	// replicas share it, edit may be called again with a newer text, the error
	// may be ErrChanged, and it is a *NoAgreement when they cannot agree.
	Change(edit func(old []byte) ([]byte, error)) error
	// Later is Change for what was learnt and can be learnt again: it counts
	// here at once, and is shared when the replicas can agree. A later edit
	// about the same thing takes the place of one that waits, and edit may be
	// called long after Later has returned.
	Later(about string, edit func(old []byte) ([]byte, error)) error
}

// A Copy is where a replica keeps what it knows of a shared document, in a form
// that is a document, too.
type Copy interface {
	Document
	// Write replaces the text; nil removes it.
	Write(data []byte) error
}

// A Shelf has documents by name.
type Shelf interface {
	// Document is the one of that name, whose text is kept here in local.
	Document(name string, local Copy) Document
}

// On is a document of a shelf; without a shelf it is local.
func On(shelf Shelf, name string, local Copy) Document {
	if shelf == nil {
		return local
	}
	return shelf.Document(name, local)
}

// The names of documents. Those that end with a slash begin the names of many.
const (
	Config    = "config"    // the configuration, where it is shared
	Keys      = "keys"      // access keys
	Approvals = "approvals" // what waits for approval
	Memory    = "memory"    // what was learnt about servers
	Pins      = "pins/"     // definitions, by server
	Tokens    = "tokens/"   // sign-ins at servers, by grant
)

// ErrChanged says that others changed a document again and again, so that an
// edit did not come through.
var ErrChanged = i18n.Errorf("other replicas change it at the same time: look at it again, and repeat", "其他副本正在同时修改：请重新查看后再试")

// A NoAgreement is why a shared document was not changed: the replicas cannot
// agree.
type NoAgreement struct {
	Since  time.Time // zero when that is not known
	Unsure bool      // it may have been changed all the same
	Err    error
}

func (e *NoAgreement) Error() string { return e.In(i18n.English) }

// In says it in a language.
func (e *NoAgreement) In(l i18n.Lang) string {
	since, end := i18n.Text{}, i18n.New("nothing was changed", "没有作任何更改")
	if !e.Since.IsZero() {
		since = i18n.New(" since %s", "（自 %s 起）", e.Since.Format(time.RFC3339))
	}
	if e.Unsure {
		end = i18n.New("whether it was changed is not known", "无法确定是否已更改")
	}
	return i18n.New("no_agreement: the replicas cannot agree%s: %v; %v", "no_agreement：各副本无法达成一致%s：%v；%v", since, e.Err, end).In(l)
}

func (e *NoAgreement) Unwrap() error { return e.Err }
