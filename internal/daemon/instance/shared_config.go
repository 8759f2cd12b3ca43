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
	return i18n.Errorf("this replica cannot use the shared configuration and keeps the previous one: %w",
		"本副本无法使用共享的配置，仍沿用之前的配置：%w", s.Config.Rejected())
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
		return i18n.Errorf("the config file was changed by hand, but the replicas share the configuration and cannot be notified now: %w",
			"配置文件被手动修改，但各副本共享配置，目前无法通知其他副本：%w", err)
	case errors.As(err, &none):
		return s.Rejected()
	case err != nil:
		return err
	case byHand && s.Rejected() == nil:
		return i18n.Errorf("the replicas share the configuration, so a manual change of the file has no effect; it was saved as %s: to apply it to all replicas, use cluster import",
			"各副本共享配置，因此手动修改文件不生效；修改已保存为 %s：如要应用到所有副本，请用 cluster import", s.Config.Backup())
	}
	if err := s.Rejected(); err != nil {
		return err
	}
	return s.Config.Know()
}
