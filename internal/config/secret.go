package config

import "log/slog"

// hidden is printed instead of the text of a Secret.
const hidden = "***"

// Secret is a text that is never printed: every way of formatting it shows ***.
type Secret string

// Reveal returns the text itself.
func (s Secret) Reveal() string { return string(s) }

// String hides the text.
func (s Secret) String() string { return hidden }

// GoString hides the text.
func (s Secret) GoString() string { return hidden }

// MarshalJSON hides the text.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + hidden + `"`), nil }

// MarshalText hides the text, also if it is a map key.
func (s Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// LogValue hides the text.
func (s Secret) LogValue() slog.Value { return slog.StringValue(hidden) }
