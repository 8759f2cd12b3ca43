package safehttp

import (
	"crypto/tls"
	"net/http"
	"time"
)

// NewConfigured returns a client for a URL in the configuration, at any address: a
// collector, a model. Requests may carry data for that server only, so redirects
// are not followed: the redirect response is returned. timeout is for a whole
// exchange; zero leaves the limit to contexts.
func NewConfigured(timeout time.Duration) *http.Client {
	return &http.Client{
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    Timeout,
			ForceAttemptHTTP2:      true,
			MaxIdleConnsPerHost:    2,
			IdleConnTimeout:        time.Minute,
			MaxResponseHeaderBytes: maxHeader,
			DisableCompression:     true,
		},
	}
}
