package gofence

import "fmt"

// Get renders a request without one.
func Get(host, path string) []byte {
	return fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, host)
}
