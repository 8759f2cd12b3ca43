package doctor

import "testing"

func TestObeysProxy(t *testing.T) {
	for version, want := range map[string]bool{
		"v18.20.4\n": false, "v20.19.0": false, "v22.20.9": false, "v22.21.0": true, "v23.11.0": false, "v24.0.0": true, "v26.1.0": true, "what": true,
	} {
		if obeysProxy(version) != want {
			t.Errorf("%s: %v", version, !want)
		}
	}
}
