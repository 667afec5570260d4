package fence_test

import (
	"os"
	"testing"

	"paddock/fence"
)

// cityDir holds real data; it is not part of the project.
const cityDir = "../../shared/data/nyc"

func TestLoadDirOfRealData(t *testing.T) {
	if _, err := os.Stat(cityDir); err != nil {
		t.Skipf("no data to load: %v", err)
	}
	catalog, report, err := fence.LoadDir(os.DirFS(cityDir), fence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
	if len(catalog.Names()) != 4 {
		t.Errorf("sets: %q", catalog.Names())
	}
}
