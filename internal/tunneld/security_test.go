package tunneld_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// Every test that docs/design/tunnel/SECURITY.md names exists in the package that it states.
func TestSecurityTestsAreThere(t *testing.T) {
	page, err := os.ReadFile("../../docs/design/tunnel/SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	packages, tests := regexp.MustCompile("`([a-z0-9/]+)`:((?: `[A-Z][A-Za-z]+`,?)+)"), regexp.MustCompile("`([A-Z][A-Za-z]+)`")
	named := 0
	for _, group := range packages.FindAllStringSubmatch(string(page), -1) {
		files, err := filepath.Glob("../../" + group[1] + "/*_test.go")
		if err != nil {
			t.Fatal(err)
		}
		var code []byte
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			code = slices.Concat(code, text)
		}
		for _, test := range tests.FindAllStringSubmatch(group[2], -1) {
			named++
			if !regexp.MustCompile(`(?m)^func ` + test[1] + `\(`).Match(code) {
				t.Errorf("%s has no %s", group[1], test[1])
			}
		}
	}
	if named < 30 {
		t.Errorf("%d tests are named", named)
	}
}
