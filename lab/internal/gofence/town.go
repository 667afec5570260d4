package gofence

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"paddock/internal/city"
)

const (
	// townVehicles is how many positions stand in for those of the real buses.
	townVehicles = 1_962
	// townFile holds them.
	townFile = "vehicles.geojson"
	// townDrive is how long the vehicles have been under way.
	townDrive = 10 * time.Minute
	townSeed  = 1
	// townParents is the file of the boroughs. In a directory of its own it is not a set.
	townParents = "parents/boroughs.geojson"
)

// TownParents returns the file of the areas by which the city kinds group the fences of the
// simulated city that WriteTown has written to dir.
func TownParents(dir string) string { return filepath.Join(dir, filepath.FromSlash(townParents)) }

// WriteTown writes the simulated city into a directory, for machines without real
// data: its sets of fences, and the positions of its vehicles, on one of whose
// streets - the fences' borders - each is. TownParents has its boroughs.
func WriteTown(dir string) error {
	town := city.New(city.Config{Seed: townSeed, Vehicles: townVehicles})
	if err := town.WriteGeoJSON(dir); err != nil {
		return err
	}
	parents := TownParents(dir)
	if err := errors.Join(os.MkdirAll(filepath.Dir(parents), 0o777), town.WriteBoroughs(parents)); err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString(`{"type":"FeatureCollection","features":[`)
	for i, f := range town.Fleet().Step(townDrive, nil) {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `
{"type":"Feature","properties":{"vehicle":%q,"speed":%.2f,"bearing":%.1f,"accuracy":%.1f},"geometry":{"type":"Point","coordinates":[%.7f,%.7f]}}`,
			f.ID, f.Speed, f.Heading, f.Accuracy, f.Lon, f.Lat)
	}
	b.WriteString("\n]}\n")
	return os.WriteFile(filepath.Join(dir, townFile), b.Bytes(), 0o666)
}
