// Package bundle writes the archive of a bug report: small texts about a platform, from which
// secrets are removed.
package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"time"
	"unicode/utf8"
)

// MaxFile bounds a file of the archive, in bytes. A longer one is cut at its end, which its last
// line says.
const MaxFile = 2 << 20

// maxFiles bounds the files that Copy takes over.
const maxFiles = 100

// Writer writes an archive: a tar file, packed with gzip.
type Writer struct {
	*Redactor
	dir string
	at  time.Time
	zip *gzip.Writer
	tar *tar.Writer
	err error // the first one
}

// NewWriter begins an archive whose files are in a directory of this name.
func NewWriter(to io.Writer, dir string, at time.Time, r *Redactor) *Writer {
	zip := gzip.NewWriter(to)
	return &Writer{Redactor: r, dir: dir, at: at, zip: zip, tar: tar.NewWriter(zip)}
}

// Text adds a file, without secrets.
func (w *Writer) Text(name string, text []byte) {
	if len(text) > MaxFile {
		text = append(cut(text, MaxFile), "\n... (cut here)\n"...)
	}
	w.add(name, []byte(w.Redactor.Text(string(text))))
}

// cut shortens a text to a number of bytes, at the end of a character.
func cut(text []byte, most int) []byte {
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most:most]
}

// JSON adds a file with a value, indented.
func (w *Writer) JSON(name string, v any) {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		text = fmt.Appendf(nil, "not encoded: %v", err)
	}
	w.Text(name, append(text, '\n'))
}

// Make adds a file that a function writes. What it has written before an error is added too, with
// the error behind it.
func (w *Writer) Make(name string, write func(io.Writer) error) {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		fmt.Fprintf(&text, "\nnot complete: %v\n", err)
	}
	w.Text(name, text.Bytes())
}

func (w *Writer) add(name string, text []byte) {
	if w.err != nil {
		return
	}
	header := &tar.Header{Name: path.Join(w.dir, name), Mode: 0o600, Size: int64(len(text)), ModTime: w.at, Format: tar.FormatPAX}
	w.err = w.tar.WriteHeader(header)
	if w.err == nil {
		_, w.err = w.tar.Write(text)
	}
}

// Close ends the archive, and returns the first error.
func (w *Writer) Close() error { return errors.Join(w.err, w.tar.Close(), w.zip.Close()) }

// File is a file of an archive.
type File struct {
	Name string
	Size int
}

// Copy adds the files of another archive, as they are, and returns them.
func (w *Writer) Copy(from io.Reader) (files []File, err error) {
	zip, err := gzip.NewReader(from)
	if err != nil {
		return nil, err
	}
	for in := tar.NewReader(zip); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return files, w.err
		}
		if err != nil {
			return nil, err
		}
		if h.Typeflag != tar.TypeReg || h.Size > 2*MaxFile || len(files) == maxFiles {
			return nil, fmt.Errorf("%.100q is no file of a bug report", h.Name)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			return nil, err
		}
		name := path.Base(h.Name)
		w.add(name, text)
		files = append(files, File{name, len(text)})
	}
}
