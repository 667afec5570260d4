// Package sitecorpus is the files that tunnels are measured with: 184, as many as the saved
// page of the go-http-tunnel benchmark had, and of sizes like those of a page. They are the
// same bytes on every machine.
package sitecorpus

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
)

// Files is how many files there are.
const Files = 184

// seed is of all that is drawn; a file's own number is the other half.
const seed = 2012

// Of so many files in a row this many cannot be compressed: 65 %.
const (
	inARow         = 20
	incompressible = 13
)

// File is one of them.
type File struct {
	Type string // media type
	Body []byte
}

// Make makes the files, in the order in which they are asked for.
func Make() []File {
	files := make([]File, Files)
	for i := range files {
		files[i] = file(i)
	}
	return files
}

// file makes one. Kinds go by its number, and not by its size.
func file(i int) File {
	draw := rand.NewPCG(seed, uint64(i))
	if i*incompressible%inARow < incompressible {
		return File{Type: []string{"image/jpeg", "image/png", "font/woff2"}[i%3], Body: noise(draw, sizes[i])}
	}
	return File{Type: []string{"text/html", "text/css", "text/javascript"}[i%3], Body: text(draw, sizes[i])}
}

// noise is bytes as of an image.
func noise(draw *rand.PCG, size int) []byte {
	b := make([]byte, 0, size+8)
	for len(b) < size {
		b = binary.LittleEndian.AppendUint64(b, draw.Uint64())
	}
	return b[:size]
}

// words are what texts are made of.
var words = []string{
	"vehicle", "fence", "depot", "route", "stop", "<div>", "</div>", "class=", "margin:", "return", "function", "var", "{", "}",
	"0.5em;", "position", "the", "of", "and", "display:", "block;", "42", "\"none\"", "=", "link",
}

// lineWords is how many of them stand on a line.
const lineWords = 12

// text is words by chance.
func text(draw *rand.PCG, size int) []byte {
	b := make([]byte, 0, size+16)
	for n := 1; len(b) < size; n++ {
		b = append(b, words[draw.Uint64()%uint64(len(words))]...)
		if n%lineWords == 0 {
			b = append(b, '\n')
			continue
		}
		b = append(b, ' ')
	}
	return b[:size]
}

// Digest is the SHA-256 of files, each behind its type and its length, in hexadecimal
// digits.
func Digest(files []File) string {
	h := sha256.New()
	for _, f := range files {
		head := append([]byte(f.Type), 0)
		h.Write(binary.LittleEndian.AppendUint64(head, uint64(len(f.Body))))
		h.Write(f.Body)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Size is how many bytes files have together.
func Size(files []File) (sum int64) {
	for _, f := range files {
		sum += int64(len(f.Body))
	}
	return sum
}
