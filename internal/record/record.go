// Package record has small texts that several writers change: keys, approvals,
// pins. A gateway without replicas keeps each in a file. Replicas share the
// texts, and each keeps a copy in the same file, so that it can continue while
// the replicas cannot agree.
package record

import (
	"time"

	"mcp-all-in-one/internal/i18n"
)

// A Document is a text that other writers may change at any time.
type Document interface {
	// Read returns the text as this replica knows it; nil if there is none.
	Read() ([]byte, error)
	// Change writes the result of edit, with exclusive access. If replicas
	// share the text, edit may be called again with a newer text, the error may
	// be ErrChanged, and it is a *NoAgreement if the replicas cannot agree.
	Change(edit func(old []byte) ([]byte, error)) error
	// Later is like Change, for data that was learnt and can be learnt again.
	// It takes effect on this replica at once, and is shared when the replicas
	// can agree. A newer edit about the same thing replaces one that waits.
	// edit may be called long after Later has returned.
	Later(about string, edit func(old []byte) ([]byte, error)) error
}

// A Copy is a replica's local copy of a shared document. It is a Document
// itself.
type Copy interface {
	Document
	// Write replaces the text; nil removes it.
	Write(data []byte) error
}

// Documents are the documents that replicas share, by name.
type Documents interface {
	// Document returns the document with that name, whose local copy is local.
	Document(name string, local Copy) Document
}

// On returns the document with that name, or local if docs is nil.
func On(docs Documents, name string, local Copy) Document {
	if docs == nil {
		return local
	}
	return docs.Document(name, local)
}

// The names of documents. A name that ends with a slash is a prefix of many.
const (
	Config    = "config"    // the configuration, if it is shared
	Keys      = "keys"      // access keys
	Approvals = "approvals" // entries that wait for approval
	Memory    = "memory"    // what was learnt about servers
	Pins      = "pins/"     // definitions, by server
	Tokens    = "tokens/"   // sign-ins at servers, by grant
)

// ErrChanged means that an edit failed because other replicas changed the
// document repeatedly.
var ErrChanged = i18n.Errorf("other replicas changed the same record meanwhile, so nothing was changed: check it and run the command again", "其他副本同时修改了同一记录，因此没有作任何更改：请查看后重新运行命令")

// A NoAgreement means that a shared document was not changed because the
// replicas cannot agree.
type NoAgreement struct {
	Since  time.Time // zero if unknown
	Unsure bool      // the change may have been made
	Err    error
}

func (e *NoAgreement) Error() string { return e.In(i18n.English) }

// In returns the message in a language.
func (e *NoAgreement) In(l i18n.Lang) string {
	since, end := i18n.Text{}, i18n.New("nothing was changed", "没有作任何更改")
	if !e.Since.IsZero() {
		since = i18n.New(" since %s", "（自 %s 起）", e.Since.Format(time.RFC3339))
	}
	if e.Unsure {
		end = i18n.New("whether it was changed is not known", "无法确定是否已更改")
	}
	return i18n.New("no_agreement: the shared store of the replicas (cluster.engine) cannot be reached%s: %v; %v", "no_agreement：无法访问各副本的共享存储（cluster.engine）%s：%v；%v", since, e.Err, end).In(l)
}

func (e *NoAgreement) Unwrap() error { return e.Err }
