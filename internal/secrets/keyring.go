package secrets

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/zalando/go-keyring"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/spelling"
)

// KeyringStore keeps secrets in the user's keychain: the Secret Service on
// Linux, Keychain on macOS, the Credential Manager on Windows.
type KeyringStore struct {
	service string
}

// newKeyringStore returns the store of this program in the keychain.
func newKeyringStore() *KeyringStore { return NewKeyring("mcp-all-in-one") }

// NewKeyring returns a separate store in the keychain.
func NewKeyring(service string) *KeyringStore { return &KeyringStore{service: service} }

// keyringIndex is an entry that lists the names of all others, because
// keychains cannot list. It contains a space, so it cannot be the name of a
// secret.
const keyringIndex = "names of secrets"

// Get returns a secret.
func (s *KeyringStore) Get(name string) (string, error) {
	if !spelling.Fault(name).Empty() {
		return "", ErrNoSecret
	}
	v, err := keyring.Get(s.service, name)
	if errors.Is(err, keyring.ErrNotFound) {
		return "", ErrNoSecret
	}
	if err != nil {
		return "", i18n.Errorf("asking the keychain: %w", "查询系统钥匙串失败：%w", err)
	}
	return v, nil
}

// List returns the sorted names of the secrets.
func (s *KeyringStore) List() ([]string, error) {
	text, err := keyring.Get(s.service, keyringIndex)
	if errors.Is(err, keyring.ErrNotFound) {
		return nil, nil
	}
	var names []string
	if err == nil {
		err = json.Unmarshal([]byte(text), &names)
	}
	if err != nil {
		return nil, i18n.Errorf("asking the keychain: %w", "查询系统钥匙串失败：%w", err)
	}
	return names, nil
}

// Set stores a secret, replacing an existing one.
func (s *KeyringStore) Set(name, value string) error {
	if fault := spelling.Fault(name); !fault.Empty() {
		return i18n.Errorf("secret name %q %s", "密钥名 %q 无效：%s", name, fault)
	}
	if err := keyring.Set(s.service, name, value); err != nil {
		return i18n.Errorf("telling the keychain: %w", "写入系统钥匙串失败：%w", err)
	}
	return s.index(func(names []string) []string { return append(names, name) })
}

// Delete removes a secret; ErrNoSecret if it does not exist.
func (s *KeyringStore) Delete(name string) error {
	if !spelling.Fault(name).Empty() {
		return ErrNoSecret
	}
	err := keyring.Delete(s.service, name)
	if errors.Is(err, keyring.ErrNotFound) {
		return ErrNoSecret
	}
	if err != nil {
		return i18n.Errorf("telling the keychain: %w", "写入系统钥匙串失败：%w", err)
	}
	return s.index(func(names []string) []string {
		return slices.DeleteFunc(names, func(n string) bool { return n == name })
	})
}

func (s *KeyringStore) index(change func([]string) []string) error {
	names, err := s.List()
	if err != nil {
		return err
	}
	names = change(names)
	slices.Sort(names)
	text, err := json.Marshal(slices.Compact(names))
	if err != nil {
		return i18n.Errorf("telling the keychain: %w", "写入系统钥匙串失败：%w", err)
	}
	if err := keyring.Set(s.service, keyringIndex, string(text)); err != nil {
		return i18n.Errorf("telling the keychain: %w", "写入系统钥匙串失败：%w", err)
	}
	return nil
}
