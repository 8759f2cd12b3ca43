package safehttp

import (
	"crypto/tls"
	"net/http"
	"time"
)

// NewConfigured returns a client for an address that stands in the
// configuration, wherever that is: a collector, a model. What is sent there is
// for it alone, so no redirect is followed: its answer is returned as it is.
// timeout is for a whole exchange; zero leaves that to contexts.
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
