package certs

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"log/slog"
	"os"
	"sync"
	"time"

	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/i18n"
)

// files are a certificate and its key. They are read at every handshake, which
// costs far more than the read. So no replacement is missed, whether a file was
// written, renamed or is a link with a new target.
type files struct {
	cert, key string
	log       *slog.Logger

	mu   sync.Mutex
	seen [sha256.Size]byte // hash of the files that current, or the last error, is from
	use  *tls.Certificate
}

func openFiles(cert, key string, log *slog.Logger) (*files, error) {
	f := &files{cert: cert, key: key, log: log}
	return f, f.refresh()
}

func (f *files) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.refresh(); err != nil {
		f.log.Error("the new certificate cannot be used, the old one stays", "cert", f.cert, "key", f.key, "until", f.use.Leaf.NotAfter.Format(time.RFC3339), "err", err)
	}
	return f.use, nil
}

func (f *files) covers(host string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.use.Leaf.VerifyHostname(host) == nil
}

// refresh loads the files if they have changed. It logs an error once for each
// version of them.
func (f *files) refresh() error {
	cert, certErr := os.ReadFile(f.cert)
	key, keyErr := os.ReadFile(f.key)
	content := bytes.Join([][]byte{cert, {0}, key}, nil)
	if sum := sha256.Sum256(content); f.seen != sum {
		f.seen = sum
		switch {
		case certErr != nil:
			return unusable("cert", f.cert, i18n.New("cannot be read: %v", "无法读取：%v", problem.WithoutPath(certErr)))
		case keyErr != nil:
			return unusable("key", f.key, i18n.New("cannot be read: %v", "无法读取：%v", problem.WithoutPath(keyErr)))
		}
		return f.take(cert, key)
	}
	return nil
}

// unusable says why the certificate or its key cannot be used.
func unusable(member, path string, why i18n.Text) error {
	e := problem.OfFile("", problem.TLS, path, why)
	e.Problems[0].Path = "server.tls." + member
	return e
}

func (f *files) take(cert, key []byte) error {
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return unusable("cert", f.cert, i18n.New("cannot be used with the key %s: %q", "无法与私钥 %s 一起使用：%q", f.key, err.Error()))
	}
	f.use = &pair
	log := f.log.Info
	if time.Now().After(pair.Leaf.NotAfter) {
		log = f.log.Warn
	}
	log("certificate in use", "cert", f.cert, "names", pair.Leaf.DNSNames, "until", pair.Leaf.NotAfter.Format(time.RFC3339))
	return nil
}
