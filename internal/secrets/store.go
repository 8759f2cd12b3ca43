// Package secrets stores secrets by name, in an encrypted file or in the
// keychain of the system.
package secrets

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/spelling"
)

// maxStore bounds the size of the file.
const maxStore = 16 << 20

// A Store provides secrets by name, for ${secret:name}.
type Store interface {
	// Get returns a secret; ErrNoSecret if it does not exist.
	Get(name string) (string, error)
}

// ErrNoSecret is returned by a Store for an unknown name.
var ErrNoSecret = i18n.Errorf("no such secret", "没有这个密钥")

// ErrNoHome is returned if user data is to be stored and there is no home
// directory.
var ErrNoHome = i18n.Errorf("there is no home directory to keep it in: set HOME", "没有可保存的用户目录：请设置 HOME")

// FileStore keeps secrets in an encrypted file with the key in a file beside it.
// This keeps secrets out of backups, logs and screens, but does not protect them
// from a reader of the directory. It may be used concurrently, also by several
// processes.
type FileStore struct {
	dir string
}

// NewFileStore returns the store in dir. It creates nothing before Set.
func NewFileStore(dir string) *FileStore { return &FileStore{dir: dir} }

func (s *FileStore) file() string    { return filepath.Join(s.dir, "secrets.enc") }
func (s *FileStore) keyFile() string { return filepath.Join(s.dir, "secrets.key") }

// Get returns a secret.
func (s *FileStore) Get(name string) (string, error) {
	all, err := s.read()
	if err != nil {
		return "", err
	}
	v, ok := all[name]
	if !ok {
		return "", ErrNoSecret
	}
	return v, nil
}

// List returns the sorted names of the secrets.
func (s *FileStore) List() ([]string, error) {
	all, err := s.read()
	return slices.Sorted(maps.Keys(all)), err
}

// Set stores a secret, replacing an existing one.
func (s *FileStore) Set(name, value string) error {
	if fault := spelling.Fault(name); !fault.Empty() {
		return i18n.Errorf("secret name %q %s", "密钥名 %q 无效：%s", name, fault)
	}
	return s.change(func(all map[string]string) error {
		all[name] = value
		return nil
	})
}

// Delete removes a secret; ErrNoSecret if it does not exist.
func (s *FileStore) Delete(name string) error {
	return s.change(func(all map[string]string) error {
		if _, ok := all[name]; !ok {
			return ErrNoSecret
		}
		delete(all, name)
		return nil
	})
}

func (s *FileStore) change(edit func(map[string]string) error) error {
	if s.dir == "" {
		return ErrNoHome
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return i18n.Errorf("storing secrets: %w", "保存密钥失败：%w", err)
	}
	unlock, err := disk.Lock(s.file())
	if err != nil {
		return err
	}
	defer unlock()
	all, err := s.read()
	if err != nil {
		return err
	}
	if err := edit(all); err != nil {
		return err
	}
	plain, err := json.Marshal(all)
	if err != nil {
		return i18n.Errorf("storing secrets: %w", "保存密钥失败：%w", err)
	}
	box, err := s.cipher(true)
	if err != nil {
		return err
	}
	nonce := make([]byte, box.NonceSize())
	rand.Read(nonce)
	return disk.Replace(disk.OS{}, s.file(), box.Seal(nonce, nonce, plain, nil), 0o600)
}

func (s *FileStore) read() (map[string]string, error) {
	all := map[string]string{}
	if s.dir == "" {
		return all, nil
	}
	data, _, err := disk.Read(s.file(), maxStore)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return all, i18n.Errorf("reading secrets: %w", "读取密钥失败：%w", err)
	}
	box, err := s.cipher(false)
	if err != nil {
		return all, err
	}
	if len(data) < box.NonceSize() {
		return all, i18n.Errorf("reading secrets: the file is cut short", "读取密钥失败：文件不完整")
	}
	plain, err := box.Open(nil, data[:box.NonceSize()], data[box.NonceSize():], nil)
	if err != nil {
		return all, i18n.Errorf("reading secrets: the key does not fit, or the file was changed", "读取密钥失败：加密密钥不符，或文件已被改动")
	}
	if err := json.Unmarshal(plain, &all); err != nil {
		return all, i18n.Errorf("reading secrets: the content is not ours", "读取密钥失败：内容不是本程序写入的")
	}
	return all, nil
}

// cipher reads the key file. If create is set and there is none, it creates
// one.
func (s *FileStore) cipher(create bool) (cipher.AEAD, error) {
	key, info, err := disk.Read(s.keyFile(), 1024)
	switch {
	case errors.Is(err, fs.ErrNotExist) && create:
		key = make([]byte, 32)
		rand.Read(key)
		if err := disk.Replace(disk.OS{}, s.keyFile(), key, 0o600); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, i18n.Errorf("reading the key of the secrets: %w", "读取加密密钥失败：%w", err)
	case disk.Exposed(info.Mode()):
		return nil, i18n.Errorf("%s can be read by others (mode %04o): chmod 600 it", "其他用户可读 %s（权限 %04o）：请执行 chmod 600", s.keyFile(), info.Mode().Perm())
	}
	block, err := aes.NewCipher(key)
	if err != nil || len(key) != 32 {
		return nil, i18n.Errorf("the key of the secrets is not 32 bytes long", "加密密钥的长度不是 32 字节")
	}
	return cipher.NewGCM(block)
}
