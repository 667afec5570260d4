//go:build !unix

package spool

import "os"

// lockFile only makes the file: nothing here keeps a second process out.
func lockFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
}

// syncDir does nothing: directories cannot be synced.
func syncDir(string) error { return nil }
