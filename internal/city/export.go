package city

import (
	"os"
	"path/filepath"

	"paddock/fence"
	"paddock/fence/geojson"
)

// WriteGeoJSON writes each set to a file of its name in dir, as a
// FeatureCollection. It makes the directory if necessary, and replaces files of these names.
func (c *City) WriteGeoJSON(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for _, set := range c.sets {
		if err := writeSet(filepath.Join(dir, set.Name+".geojson"), set.Fences); err != nil {
			return err
		}
	}
	return nil
}

// WriteBoroughs writes the areas of Boroughs to a file, as a FeatureCollection.
func (c *City) WriteBoroughs(file string) error { return writeSet(file, c.Boroughs()) }

func writeSet(name string, fences []fence.Fence) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	return geojson.WriteGeoJSON(f, pointers(fences))
}

func pointers(fences []fence.Fence) func(func(*fence.Fence) bool) {
	return func(yield func(*fence.Fence) bool) {
		for i := range fences {
			if !yield(&fences[i]) {
				return
			}
		}
	}
}
