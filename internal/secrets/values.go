package secrets

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/spelling"
)

// maxValue bounds one value: some systems cannot start a program with a longer
// one.
const maxValue = 64 << 10

// Values holds the values that users of the gateway provide for servers, by user
// and name. They are in a separate encrypted file, so that ${secret:...} cannot
// read them. Values may be used concurrently, also by several processes; changes
// by another process are visible at the next Get.
type Values struct {
	file *FileStore

	mu   sync.Mutex
	info os.FileInfo // of the file when it was read; nil if there was none
	all  map[string]string
}

// NewValues returns the values below the directory of the user who runs the
// gateway. It creates nothing before Set.
func NewValues(dir string) *Values {
	if dir != "" {
		dir = filepath.Join(dir, "users")
	}
	return &Values{file: NewFileStore(dir)}
}

// valueKey returns a unique key: neither users nor names contain a NUL.
func valueKey(user, name string) string { return user + "\x00" + name }

// Get returns the value of a user; ErrNoSecret if it does not exist.
func (v *Values) Get(user, name string) (string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	info, err := os.Stat(v.file.file())
	if err != nil {
		info = nil
	}
	if v.all == nil || !sameFile(info, v.info) {
		all, err := v.file.read()
		if err != nil {
			return "", err
		}
		v.all, v.info = all, info
	}
	value, ok := v.all[valueKey(user, name)]
	if !ok {
		return "", ErrNoSecret
	}
	return value, nil
}

// Has reports whether a user has a value of that name whose digest is not
// other.
func (v *Values) Has(user, name, other string) bool {
	value, err := v.Get(user, name)
	return err == nil && Digest(value) != other
}

// Digest identifies a value without revealing it.
func Digest(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:])
}

// sameFile reports whether a file is unchanged.
func sameFile(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

// Set stores a value of a user, replacing an existing one.
func (v *Values) Set(user, name, value string) error {
	if user == "" || strings.Contains(user, "\x00") {
		return i18n.Errorf("%q is not a user", "%q 不是用户", user)
	}
	if fault := spelling.Fault(name); !fault.Empty() {
		return i18n.Errorf("secret name %q %s", "密钥名 %q 无效：%s", name, fault)
	}
	if len(value) > maxValue || !utf8.ValidString(value) || strings.Contains(value, "\x00") {
		return i18n.Errorf("the value is longer than %d bytes, or is no text", "该值超过 %d 字节，或不是文本", maxValue)
	}
	return v.file.change(func(all map[string]string) error {
		all[valueKey(user, name)] = value
		return nil
	})
}

// Delete removes a value of a user; ErrNoSecret if it does not exist.
func (v *Values) Delete(user, name string) error {
	return v.file.change(func(all map[string]string) error {
		if _, ok := all[valueKey(user, name)]; !ok {
			return ErrNoSecret
		}
		delete(all, valueKey(user, name))
		return nil
	})
}

// Forget removes all values of a user.
func (v *Values) Forget(user string) error {
	names, err := v.List(user)
	if err != nil || len(names) == 0 {
		return err
	}
	return v.file.change(func(all map[string]string) error {
		maps.DeleteFunc(all, func(key, _ string) bool { return strings.HasPrefix(key, valueKey(user, "")) })
		return nil
	})
}

// List returns the sorted names of a user's values.
func (v *Values) List(user string) ([]string, error) {
	all, err := v.file.read()
	var names []string
	for key := range all {
		if name, ok := strings.CutPrefix(key, valueKey(user, "")); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, err
}
