package dist

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
)

// entry is a file of an archive.
type entry struct {
	name string // in the archive
	from string // path of the contents
	mode os.FileMode
}

// entries returns the files of an archive, in its order.
func (b *Build) entries(t Target, binary string) []entry {
	at := func(name string) string { return filepath.Join(b.Root, filepath.FromSlash(name)) }
	list := []entry{
		{t.program(), binary, 0o755},
		{"README.md", at("README.md"), 0o644},
		{"LICENSE", at("LICENSE"), 0o644},
		{"CHANGELOG.md", at("CHANGELOG.md"), 0o644},
		{"paddock.example.yaml", at("docs/reference/paddock.example.yaml"), 0o644},
	}
	for _, shell := range []string{"bash", "fish", "zsh"} {
		list = append(list, entry{"completions/paddock." + shell, at("cmd/paddock/completions/paddock." + shell), 0o644})
	}
	return list
}

// Archive writes the archive of a target, a zip for Windows, and returns its path.
func (b *Build) Archive(t Target, binary string) (file string, err error) {
	name := fmt.Sprintf("paddock-%s-%s", b.packageVersion(), t.file())
	write, ext := b.writeTar, ".tar.gz"
	if t.OS == "windows" {
		write, ext = b.writeZip, ".zip"
	}
	file = filepath.Join(b.Out, name+ext)
	out, err := os.Create(file)
	if err != nil {
		return "", err
	}
	return file, errors.Join(write(out, name, b.entries(t, binary)), out.Close())
}

func (b *Build) writeTar(w io.Writer, dir string, list []entry) error {
	packed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	out := tar.NewWriter(packed)
	for _, e := range list {
		text, err := os.ReadFile(e.from)
		if err != nil {
			return err
		}
		h := &tar.Header{Name: path.Join(dir, e.name), Mode: int64(e.mode), Size: int64(len(text)), ModTime: b.Date, Format: tar.FormatUSTAR}
		if err := out.WriteHeader(h); err != nil {
			return err
		}
		if _, err := out.Write(text); err != nil {
			return err
		}
	}
	return errors.Join(out.Close(), packed.Close())
}

func (b *Build) writeZip(w io.Writer, dir string, list []entry) error {
	out := zip.NewWriter(w)
	for _, e := range list {
		text, err := os.ReadFile(e.from)
		if err != nil {
			return err
		}
		h := &zip.FileHeader{Name: path.Join(dir, e.name), Method: zip.Deflate, Modified: b.Date}
		h.SetMode(e.mode)
		to, err := out.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := to.Write(text); err != nil {
			return err
		}
	}
	return out.Close()
}
