package secrets

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"mcp-all-in-one/internal/disk"
)

// UserStore keeps a user's secrets in the encrypted file, or individually in
// the keychain if the user wants that. Otherwise the keychain is never
// accessed, because a machine without a desktop has none.
type UserStore struct {
	*FileStore
	chain *KeyringStore
}

// NewUserStore returns the store of the user with the directory dir.
func NewUserStore(dir string) *UserStore { return &UserStore{NewFileStore(dir), newKeyringStore()} }

// Values returns the values that users of this user's gateway provide for
// servers.
func (s *UserStore) Values() *Values { return NewValues(s.dir) }

// mark returns the path of a file that exists if the keychain contains secrets
// of ours.
func (s *UserStore) mark() string { return filepath.Join(s.dir, "secrets.keychain") }

func (s *UserStore) chained() bool {
	if s.dir == "" {
		return false
	}
	_, err := os.Stat(s.mark())
	return err == nil
}

// Get returns a secret.
func (s *UserStore) Get(name string) (string, error) {
	v, err := s.FileStore.Get(name)
	if errors.Is(err, ErrNoSecret) && s.chained() {
		return s.chain.Get(name)
	}
	return v, err
}

// Set stores a secret in the file and removes one of the same name from the
// keychain.
func (s *UserStore) Set(name, value string) error {
	if err := s.FileStore.Set(name, value); err != nil || !s.chained() {
		return err
	}
	return ignoreMissing(s.chain.Delete(name))
}

// SetInKeychain stores a secret in the keychain and removes one of the same
// name from the file.
func (s *UserStore) SetInKeychain(name, value string) error {
	if err := s.chain.Set(name, value); err != nil {
		return err
	}
	if err := disk.Replace(disk.OS{}, s.mark(), nil, 0o600); err != nil {
		return err
	}
	if _, err := os.Stat(s.file()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return ignoreMissing(s.FileStore.Delete(name))
}

// Delete removes a secret; ErrNoSecret if it does not exist.
func (s *UserStore) Delete(name string) error {
	err := s.FileStore.Delete(name)
	if errors.Is(err, ErrNoSecret) && s.chained() {
		return s.chain.Delete(name)
	}
	return err
}

// List returns the sorted names of all secrets, including those in the
// keychain.
func (s *UserStore) List() ([]string, error) {
	names, err := s.FileStore.List()
	if err != nil {
		return names, err
	}
	chained, err := s.Keychain()
	names = append(names, chained...)
	slices.Sort(names)
	return slices.Compact(names), err
}

// Keychain returns the names of the secrets in the keychain.
func (s *UserStore) Keychain() ([]string, error) {
	if !s.chained() {
		return nil, nil
	}
	return s.chain.List()
}

func ignoreMissing(err error) error {
	if errors.Is(err, ErrNoSecret) {
		return nil
	}
	return err
}
