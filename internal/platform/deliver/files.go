package deliver

import (
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
)

// Roots returns the authorities of a PEM file, or nil, those of the system, for "".
func Roots(path string) (*x509.CertPool, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: no certificate in it", path)
	}
	return pool, nil
}

// Below makes relative paths those below a directory. It leaves "" alone.
func Below(dir string, paths ...*string) {
	for _, path := range paths {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(dir, *path)
		}
	}
}

// SyncDir makes the names of a directory durable, where the system can.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync() // not every system and file system has it
	return d.Close()
}
