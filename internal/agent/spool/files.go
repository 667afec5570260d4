package spool

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// readID reads the directory's random id, or generates it.
func readID(path string) (id [16]byte, err error) {
	text, err := os.ReadFile(path)
	if err == nil {
		b, err := hex.DecodeString(strings.TrimSpace(string(text)))
		if err != nil || len(b) != len(id) {
			return id, fmt.Errorf("%s: want 32 hexadecimal digits", path)
		}
		return [16]byte(b), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return id, err
	}
	_, _ = rand.Read(id[:])
	return id, writeID(path, id)
}

func writeID(path string, id [16]byte) error {
	return ReplaceFile(path, []byte(hex.EncodeToString(id[:])+"\n"))
}

// ReplaceFile writes a file atomically: after a crash it has the old contents or the new.
func ReplaceFile(path string, text []byte) error {
	fresh := path + ".new"
	f, err := os.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = os.Rename(fresh, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}
