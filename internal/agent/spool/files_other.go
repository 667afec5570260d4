//go:build !unix

package spool

import "os"

// lockFile opens the file. Other systems do not lock it against a second process.
func lockFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
}

// syncDir does nothing: directories cannot be synced.
func syncDir(string) error { return nil }
