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

// words are the words of generated texts.
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

// sizes are those of the files, in bytes, in the order in which they are asked for. They are
// log-normal, of median 12,000 and sigma 1.4, at the quantiles (i+0.5)/184, which stand
// apart by a stride. They are a table and no formula: exp and log differ in their last bit
// between processors.
var sizes = [Files]int{
	1573, 10398, 49742, 4285, 18192, 245, 8074, 34465, 2988, 14117, 96815, 6184,
	25392, 1831, 11012, 54942, 4612, 19321, 658, 8567, 37248, 3272, 14956, 117431,
	6589, 27149, 2091, 11662, 61192, 4951, 20539, 955, 9084, 40403, 3564, 15852,
	150761, 7011, 29083, 2353, 12348, 68882, 5304, 21855, 1226, 9628, 44014, 3866,
	16809, 218995, 7453, 31224, 2621, 13076, 78632, 5671, 23284, 1487, 10200, 48196,
	4178, 17834, 588160, 7915, 33609, 2895, 13849, 91516, 6053, 24841, 1745, 10804,
	53107, 4501, 18936, 545, 8400, 36283, 3176, 14671, 109592, 6452, 26545, 2004,
	11441, 58971, 4837, 20122, 860, 8909, 39305, 3466, 15547, 137497, 6868, 28417,
	2265, 12115, 66127, 5185, 21405, 1137, 9444, 42753, 3764, 16482, 189047, 7303,
	30486, 2531, 12829, 75100, 5547, 22795, 1401, 10006, 46730, 4073, 17484, 346454,
	7759, 32784, 2803, 13586, 86776, 5924, 24307, 1659, 10599, 51376, 4392, 18559,
	416, 8236, 35356, 3082, 14391, 102789, 6317, 25959, 1917, 11225, 56893, 4724,
	19717, 762, 8737, 38254, 3368, 15248, 126595, 6728, 27773, 2178, 11886, 63571,
	5067, 20966, 1047, 9262, 41551, 3664, 16164, 167378, 7156, 29772, 2442, 12586,
	71862, 5425, 22318, 1314, 9815, 45338, 3969, 17143, 264415, 7605, 31990, 2712,
	13328, 82505, 5797, 23788,
}
