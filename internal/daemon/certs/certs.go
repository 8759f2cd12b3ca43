// Package certs provides the certificate of the listener: from two files, which
// are read again when they change, or from an ACME authority.
package certs

import (
	"cmp"
	"crypto/tls"
	"errors"
	"log/slog"
	"path/filepath"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/folders"
	"mcp-all-in-one/internal/safehttp"
)

// A Source provides the certificate.
type Source struct {
	TLS *tls.Config
	// covers reports whether the certificate is valid for a host.
	covers func(host string) bool
}

// ForHost checks that the gateway may listen on a host and opens its certificate;
// it returns nil if none is configured.
func ForHost(cfg *config.Config, host string, log *slog.Logger) (*Source, error) {
	if p := cfg.CheckListen(host); p != nil {
		return nil, &problem.LoadError{Problems: []problem.Problem{*p}}
	}
	source, err := Open(&cfg.Server.TLS, log)
	if e := new(problem.LoadError); errors.As(err, &e) {
		e.Problems[0].File = cfg.Path
	}
	return source, err
}

// Open reads the certificate of the configuration; it returns nil if none is
// configured.
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

// Host returns the first of the gateway's names that the certificate covers, or
// else the address.
func (s *Source) Host(address string, names []string) string {
	for _, name := range append([]string{address}, names...) {
		if s.covers(name) {
			return name
		}
	}
	return address
}

// openACME requests a certificate from the authority when the first client
// connects, and renews it. The names are verified on the listener itself
// (TLS-ALPN-01), so no other port is needed.
func openACME(a *config.ACME) *Source {
	cache := cmp.Or(a.Cache, filepath.Join(folders.StateDir(), "acme"))
	m := &autocert.Manager{
		Prompt: autocert.AcceptTOS, Email: a.Email, Cache: autocert.DirCache(cache), HostPolicy: autocert.HostWhitelist(a.Domains...),
		Client: &acme.Client{DirectoryURL: a.Directory, HTTPClient: safehttp.NewConfigured(0)},
	}
	allowed := autocert.HostWhitelist(a.Domains...)
	c := m.TLSConfig()
	c.MinVersion = tls.VersionTLS12
	return &Source{TLS: c, covers: func(host string) bool { return allowed(nil, host) == nil }}
}
