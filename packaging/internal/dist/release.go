package dist

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sums is the name of the file of checksums, in the form of sha256sum(1).
const sums = "SHA256SUMS"

// Release makes all files for these targets, and tells of each one.
func (b *Build) Release(ctx context.Context, targets []Target, tell func(file string)) error {
	var files []string
	for _, t := range targets {
		binary, err := b.Binary(ctx, t)
		if err != nil {
			return err
		}
		archive, err := b.Archive(t, binary)
		if err != nil {
			return err
		}
		packages, err := b.Packages(t, binary)
		if err != nil {
			return err
		}
		bill, err := b.SBOM(ctx, t, binary)
		if err != nil {
			return err
		}
		made := append(append([]string{archive}, packages...), bill)
		for _, file := range made {
			tell(file)
		}
		files = append(files, made...)
	}
	path := filepath.Join(b.Out, sums)
	tell(path)
	return checksums(path, files)
}

// checksums writes the checksums of files beside it, by name.
func checksums(path string, files []string) error {
	var lines []string
	for _, file := range files {
		sum, err := checksum(file)
		if err != nil {
			return err
		}
		lines = append(lines, fmt.Sprintf("%x  %s\n", sum, filepath.Base(file)))
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[64:], b[64:]) })
	return os.WriteFile(path, []byte(strings.Join(lines, "")), 0o644)
}

func checksum(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return h.Sum(nil), err
}
