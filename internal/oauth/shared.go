package oauth

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"mcp-all-in-one/internal/record"
	"mcp-all-in-one/internal/secrets"
)

// Documents are the documents that the replicas share, tokens among them.
type Documents interface {
	record.Documents
	// Lock gives this replica exclusive access to a document. The local copy is
	// then up to date with the changes of the previous holder.
	Lock(ctx context.Context, name string, local record.Copy) (unlock func(), err error)
}

// A sharedStore is a Store that replicas share. Each replica has a copy in its
// own store.
type sharedStore struct {
	Store
	opt *Options
}

// Set shares a text. If the replicas cannot agree now, it is shared later: a
// refreshed token must not be lost.
func (s *sharedStore) Set(name, value string) error {
	edit := func([]byte) ([]byte, error) { return []byte(value), nil }
	doc := s.opt.Documents.Document(record.Tokens+name, s.opt.Copy(name))
	err := doc.Change(edit)
	if none := new(record.NoAgreement); errors.As(err, &none) {
		return doc.Later("", edit)
	}
	return err
}

// Delete removes a text on all replicas.
func (s *sharedStore) Delete(name string) error {
	return s.opt.Documents.Document(record.Tokens+name, s.opt.Copy(name)).Change(func([]byte) ([]byte, error) { return nil, nil })
}

// store returns the local store of this process.
func (o *Options) store() Store {
	if o.Store == nil {
		return secrets.NewFileStore(o.Dir)
	}
	return o.Store
}

// Names returns the names of the texts in the local store.
func (o *Options) Names() ([]string, error) { return o.store().List() }

// Copy returns the local copy of a text.
func (o *Options) Copy(name string) record.Copy { return tokenCopy{o.store(), o.Dir, name} }

// A tokenCopy is one replica's copy of a token.
type tokenCopy struct {
	store     Store
	dir, name string
}

// Read returns the text; nil if there is none.
func (c tokenCopy) Read() ([]byte, error) {
	text, err := c.store.Get(c.name)
	if errors.Is(err, secrets.ErrNoSecret) {
		return nil, nil
	}
	return []byte(text), err
}

// Write replaces the text and notifies the keepers on this machine.
func (c tokenCopy) Write(data []byte) error {
	var err error
	if data == nil {
		if err = c.store.Delete(c.name); errors.Is(err, secrets.ErrNoSecret) {
			err = nil
		}
	} else {
		err = c.store.Set(c.name, string(data))
	}
	if err == nil {
		err = touch(c.dir)
	}
	return err
}

// Change edits the local copy only.
func (c tokenCopy) Change(edit func([]byte) ([]byte, error)) error {
	old, err := c.Read()
	if err != nil {
		return err
	}
	data, err := edit(old)
	if err != nil {
		return err
	}
	return c.Write(data)
}

// Later is the same as Change.
func (c tokenCopy) Later(_ string, edit func([]byte) ([]byte, error)) error { return c.Change(edit) }

// touch records that a token in a folder changed.
func touch(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(marker(dir), []byte(time.Now().Format(time.RFC3339Nano)), 0o600)
}

// marker returns the file that is touched at every change, for the processes that
// share the tokens.
func marker(dir string) string { return filepath.Join(dir, "tokens.changed") }
