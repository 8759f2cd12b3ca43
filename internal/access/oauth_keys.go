package access

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"mcp-all-in-one/internal/i18n"
)

// fetchEvery limits how often tokens with unknown keys cause a fetch. After a
// failed fetch the limit is refetchEvery.
const (
	fetchEvery   = 30 * time.Second
	refetchEvery = 5 * time.Second
)

// errNoKeys means that a signature could not be checked.
var errNoKeys = i18n.Errorf("the issuer's keys cannot be fetched", "无法获取签发者的公钥")

// issuerKeys holds the keys of an issuer. It finds them through the issuer's
// metadata and fetches them again if a token names a new key.
type issuerKeys struct {
	issuer string
	jwks   string // from the configuration; "" means from the metadata
	fetch  *http.Client

	mu      sync.Mutex
	remote  *oidc.RemoteKeySet
	fetched time.Time
	failed  bool
}

// VerifySignature implements oidc.KeySet.
func (k *issuerKeys) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	remote, err := k.keySet(ctx)
	if err != nil {
		return nil, err
	}
	return remote.VerifySignature(ctx, jwt)
}

func (k *issuerKeys) keySet(ctx context.Context) (*oidc.RemoteKeySet, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.remote != nil {
		return k.remote, nil
	}
	address := k.jwks
	if address == "" {
		if !k.mayFetchLocked(time.Now()) {
			return nil, errNoKeys
		}
		found, err := k.discover(context.WithoutCancel(ctx)) // other requests wait for it too
		k.failed = err != nil
		if err != nil {
			return nil, errors.Join(errNoKeys, err)
		}
		k.fetched = time.Time{} // so that the keys may be fetched next
		address = found
	}
	client := &http.Client{Transport: &sparing{keys: k}, Timeout: k.fetch.Timeout}
	k.remote = oidc.NewRemoteKeySet(oidc.ClientContext(context.WithoutCancel(ctx), client), address)
	return k.remote, nil
}

func (k *issuerKeys) mayFetchLocked(now time.Time) bool {
	wait := fetchEvery
	if k.failed {
		wait = refetchEvery
	}
	if now.Sub(k.fetched) < wait {
		return false
	}
	k.fetched = now
	return true
}

// sparing limits the fetches of the key set, so that a client that sends tokens
// with invented key ids cannot make us flood the issuer.
type sparing struct{ keys *issuerKeys }

func (s *sparing) RoundTrip(r *http.Request) (*http.Response, error) {
	k := s.keys
	k.mu.Lock()
	may := k.mayFetchLocked(time.Now())
	k.mu.Unlock()
	if !may {
		return nil, i18n.Errorf("the keys were fetched a moment ago", "公钥刚刚获取过")
	}
	r = r.Clone(r.Context())
	r.Header.Del("Cache-Control") // otherwise a redirect would be refused
	resp, err := k.fetch.Do(r)
	k.mu.Lock()
	k.failed = err != nil || resp.StatusCode != http.StatusOK
	k.mu.Unlock()
	return resp, err
}

// discover finds the address of the keys in the issuer's metadata, which must
// name the same issuer.
func (k *issuerKeys) discover(ctx context.Context) (string, error) {
	u, err := url.Parse(k.issuer)
	if err != nil {
		return "", err
	}
	origin, path := u.Scheme+"://"+u.Host, strings.TrimSuffix(u.Path, "/")
	var last error
	for _, address := range []string{
		origin + "/.well-known/oauth-authorization-server" + path,
		origin + "/.well-known/openid-configuration" + path,
		origin + path + "/.well-known/openid-configuration",
	} {
		jwks, err := k.metadata(ctx, address)
		if err == nil {
			return jwks, nil
		}
		last = err
	}
	return "", last
}

func (k *issuerKeys) metadata(ctx context.Context, address string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := k.fetch.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", i18n.Errorf("%s answered %d", "%s 返回 %d", address, resp.StatusCode)
	}
	var doc struct {
		Issuer string `json:"issuer"`
		JWKS   string `json:"jwks_uri"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&doc); err != nil {
		return "", i18n.Errorf("reading %s: %w", "读取 %s 失败：%w", address, err)
	}
	if doc.Issuer != k.issuer {
		return "", i18n.Errorf("%s is the metadata of another issuer", "%s 是其他签发者的元数据", address)
	}
	if doc.JWKS == "" {
		return "", i18n.Errorf("%s has no jwks_uri", "%s 中没有 jwks_uri", address)
	}
	return doc.JWKS, nil
}
