package natsconf

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// FuzzParse: whatever the text is, the answer is a tree within the bounds or an
// error with a place, and the tree has a digest.
func FuzzParse(f *testing.F) {
	for _, dir := range []string{"testdata/good", "testdata/bad"} {
		files, err := os.ReadDir(dir)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			if text, err := os.ReadFile(dir + "/" + file.Name()); err == nil && strings.HasSuffix(file.Name(), ".conf") {
				f.Add(string(text))
			}
		}
	}
	environ := sources(f)
	f.Fuzz(func(t *testing.T, text string) {
		s := Sources{LookupEnv: environ.LookupEnv, ReadFile: func(path string) ([]byte, error) {
			if strings.HasSuffix(path, "self") {
				return []byte(text), nil
			}
			return nil, os.ErrNotExist
		}}
		root, err := s.Parse("fuzz.conf", []byte(text))
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Fatalf("an error without a place: %v", err)
			}
			return
		}
		if root.weight > maxWeight {
			t.Fatalf("%d nodes", root.weight)
		}
		if _, err := Digest(root); err != nil {
			t.Fatal(err)
		}
	})
}

// Variables could make a small file stand for a huge tree.
func TestBounds(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("a0 = [1, 1 ]\n")
	for i := 1; i < 40; i++ {
		old, name := string(rune('a'+(i-1)%26)), string(rune('a'+i%26))
		bomb.WriteString(name + digit(i) + " = [$" + old + digit(i-1) + ", $" + old + digit(i-1) + " ]\n")
	}
	for name, text := range map[string]string{
		"arrays":    "z " + strings.Repeat("[", 100_000),
		"maps":      strings.Repeat("a {", 100_000),
		"repeated":  bomb.String(),
		"long file": strings.Repeat("#", maxFile+1),
	} {
		if _, err := (Sources{}).Parse("x", []byte(text)); !errors.Is(err, ErrLimit) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func digit(i int) string { return string(rune('0' + i/26)) }
