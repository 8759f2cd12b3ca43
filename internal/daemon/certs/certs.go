// Package certs gives the listener its certificate: one from two files, which
// are read again when they change, or one from an ACME authority.
package certs

import (
	"crypto/tls"
	"log/slog"
	"path/filepath"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/folders"
	"mcp-all-in-one/internal/safehttp"
)

// A Source is where the certificate comes from.
type Source struct {
	TLS *tls.Config
	// covers says whether the certificate is for a host.
	covers func(host string) bool
}

// ForHost checks that the gateway may listen on a host and opens its certificate;
// nil when it has none.
func ForHost(cfg *config.Config, host string, log *slog.Logger) (*Source, error) {
	if p := cfg.CheckListen(host); p != nil {
		return nil, &problem.LoadError{Problems: []problem.Problem{*p}}
	}
	return Open(&cfg.Server.TLS, log)
}

// Open reads the certificate that the configuration names; nil when it names
// none.
func Open(t *config.TLS, log *slog.Logger) (*Source, error) {
	switch {
	case t.Cert != "":
		f, err := openFiles(t.Cert, t.Key, log)
		if err != nil {
			return nil, err
		}
		return &Source{TLS: &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: f.certificate}, covers: f.covers}, nil
	case len(t.ACME.Domains) > 0:
		return openACME(&t.ACME), nil
	}
	return nil, nil
}

// Host is the name to show of those that the gateway answers to: the first
// that the certificate is for, or the address when it is for none of them.
func (s *Source) Host(address string, names []string) string {
	for _, name := range append([]string{address}, names...) {
		if s.covers(name) {
			return name
		}
	}
	return address
}

// openACME asks the authority for a certificate when the first client wants
// one, and renews it. The names are proven on the listener itself
// (TLS-ALPN-01), so nothing else has to listen.
func openACME(a *config.ACME) *Source {
	cache := a.Cache
	if cache == "" {
		cache = filepath.Join(folders.StateDir(), "acme")
	}
	m := &autocert.Manager{
		Prompt: autocert.AcceptTOS, Email: a.Email, Cache: autocert.DirCache(cache), HostPolicy: autocert.HostWhitelist(a.Domains...),
		Client: &acme.Client{DirectoryURL: a.Directory, HTTPClient: safehttp.NewConfigured(0)},
	}
	allowed := autocert.HostWhitelist(a.Domains...)
	c := m.TLSConfig()
	c.MinVersion = tls.VersionTLS12
	return &Source{TLS: c, covers: func(host string) bool { return allowed(nil, host) == nil }}
}
