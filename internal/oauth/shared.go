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

// A Shelf is where replicas share the tokens.
type Shelf interface {
	record.Shelf
	// Lock makes this replica the only one that works on a document, whose copy
	// is then what the one before left.
	Lock(ctx context.Context, name string, local record.Copy) (unlock func(), err error)
}

// A sharedStore is a Store that replicas share. What they know is in the store
// of each.
type sharedStore struct {
	Store
	opt *Options
}

// Set shares a text, now or when the replicas can agree again: a refreshed
// token must not be lost.
func (s *sharedStore) Set(name, value string) error {
	edit := func([]byte) ([]byte, error) { return []byte(value), nil }
	doc := s.opt.Shelf.Document(record.Tokens+name, s.opt.Copy(name))
	err := doc.Change(edit)
	if none := new(record.NoAgreement); errors.As(err, &none) {
		return doc.Later("", edit)
	}
	return err
}

// Delete removes a text everywhere.
func (s *sharedStore) Delete(name string) error {
	return s.opt.Shelf.Document(record.Tokens+name, s.opt.Copy(name)).Change(func([]byte) ([]byte, error) { return nil, nil })
}

// store is where this process keeps texts.
func (o *Options) store() Store {
	if o.Store == nil {
		return secrets.NewFileStore(o.Dir)
	}
	return o.Store
}

// Names are the texts that are kept here.
func (o *Options) Names() ([]string, error) { return o.store().List() }

// Copy is the text of that name, as it is kept here.
func (o *Options) Copy(name string) record.Copy { return tokenCopy{o.store(), o.Dir, name} }

// A tokenCopy is what one replica knows of a token.
type tokenCopy struct {
	store     Store
	dir, name string
}

// Read returns the text.
func (c tokenCopy) Read() ([]byte, error) {
	text, err := c.store.Get(c.name)
	if errors.Is(err, secrets.ErrNoSecret) {
		return nil, nil
	}
	return []byte(text), err
}

// Write replaces the text, and lets the keepers of this machine know.
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

// Change edits the text here alone.
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

// Later is Change.
func (c tokenCopy) Later(_ string, edit func([]byte) ([]byte, error)) error { return c.Change(edit) }

// touch says that something in a folder of tokens changed.
func touch(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(marker(dir), []byte(time.Now().Format(time.RFC3339Nano)), 0o600)
}

// marker is touched at every change, for the processes that share the tokens.
func marker(dir string) string { return filepath.Join(dir, "tokens.changed") }
