package instance

import (
	"bytes"
	"errors"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/record"
)

// SharesConfig reports whether the config file is a copy of the shared text.
func (s *Shared) SharesConfig() bool { return s != nil && s.Config != nil }

// Rejected returns why the shared text cannot be used here; nil if it is in
// use.
func (s *Shared) Rejected() error {
	if !s.SharesConfig() || s.Config.Rejected() == nil {
		return nil
	}
	return i18n.Errorf("the configuration that the replicas share cannot be used here, and the one before it stays: %w",
		"各副本共享的配置无法在此使用，仍沿用之前的配置：%w", s.Config.Rejected())
}

// Sync updates the config file from the shared text, and returns an error if
// that text is invalid. Manual changes of the file are not applied: Sync moves
// them to a backup, or leaves them while the engine cannot be reached. If
// edited is set, the gateway itself has changed the file.
func (s *Shared) Sync(edited bool) error {
	if !s.SharesConfig() {
		return nil
	}
	written, err := s.Config.Read()
	if err != nil {
		written = nil
	}
	known, now := s.Config.Known(), []byte(nil)
	err = s.Document(record.Config, s.Config).Change(func(text []byte) ([]byte, error) {
		now = text
		return text, nil
	})
	none := new(record.NoAgreement)
	switch byHand := !edited && !bytes.Equal(written, known) && !bytes.Equal(written, now); {
	case errors.As(err, &none) && byHand:
		return i18n.Errorf("the replicas share the configuration, and the file was changed by hand, which they cannot be told: %w",
			"各副本共享配置，而文件被手动修改，目前无法告知其他副本：%w", err)
	case errors.As(err, &none):
		return s.Rejected()
	case err != nil:
		return err
	case byHand && s.Rejected() == nil:
		return i18n.Errorf("the replicas share the configuration, so a change of the file by hand does not count; it is kept as %s: make it count at all with cluster import",
			"各副本共享配置，因此手动修改文件不起作用；修改内容保存在 %s：可用 cluster import 使其在所有副本生效", s.Config.Backup())
	}
	if err := s.Rejected(); err != nil {
		return err
	}
	return s.Config.Know()
}
