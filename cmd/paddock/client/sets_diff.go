package client

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
)

// reading holds the flags of how a file is read, which are settings of the platform.
type reading struct {
	Antimeridian string `placeholder:"WAY" complete:"planar,unwrap" help:"How a file is read here, as sets.antimeridian of the platform: planar or unwrap (default planar)."`
	ID           string `name:"id-property" placeholder:"NAME" help:"Property that is the id of a Feature without one, as sets.id_property of the platform."`
}

func (r *reading) options() (o geojson.ReadOptions, err error) {
	o.IDProperty = r.ID
	if o.Antimeridian, err = geometry.ParseAntimeridian(r.Antimeridian); err != nil {
		return o, usagef("--antimeridian: %w", err)
	}
	return o, nil
}

// setsDiffCmd compares a file with a set.
type setsDiffCmd struct {
	File string `arg:"" help:"File of GeoJSON; - is standard input, and needs --name."`
	Name string `placeholder:"SET" help:"The set, in place of the name of the file."`
	JSON bool   `name:"json" help:"Print an object with set, added, changed and removed, each an array of ids."`
	reading
	remote
}

// Help describes the output, and the exit codes.
func (*setsDiffCmd) Help() string {
	return `Each fence that differs is a line: + it is in the file alone, - it is served alone, ~ its geometry or its properties differ. Fences are compared as they are once they are read, so the form of a circle, the order of members and the direction of rings make no difference. A set that is not there has no fences.

Exit codes, as those of diff: 0 no difference, 1 a difference, 2 trouble: usage, or the file or the set could not be read.

    paddock sets diff depots.geojson && echo "it is what is served"
    paddock sets diff - --name depots < depots.geojson`
}

// Run prints the differences.
func (k *setsDiffCmd) Run(ctx context.Context, c *Console) error {
	name, err := setName(k.File, k.Name)
	if err != nil {
		return err
	}
	mine, err := k.read(c, k.File)
	if err != nil {
		return trouble{err}
	}
	d, err := differences(ctx, &k.remote, &k.reading, name, mine)
	if err != nil {
		return trouble{err}
	}
	if err := k.print(c, name, d); err != nil {
		return trouble{err}
	}
	if len(d.added)+len(d.changed)+len(d.removed) > 0 {
		return differ{}
	}
	return nil
}

func (k *setsDiffCmd) print(c *Console, name string, d *difference) error {
	if k.JSON {
		return c.printJSON(struct {
			Set     string   `json:"set"`
			Added   []string `json:"added"`
			Changed []string `json:"changed"`
			Removed []string `json:"removed"`
		}{name, d.added, d.changed, d.removed})
	}
	var b bytes.Buffer
	for _, part := range []struct {
		mark string
		keys []string
	}{{"+", d.added}, {"-", d.removed}, {"~", d.changed}} {
		for _, key := range part.keys {
			fmt.Fprintf(&b, "%s %s\n", part.mark, plain(key))
		}
	}
	_, err := c.Stdout.Write(b.Bytes())
	return err
}

// differ is the result of a comparison, and nothing to tell: it has been printed.
type differ struct{}

func (differ) Error() string { return "" }

// ExitCode is the exit code of the program.
func (differ) ExitCode() int { return 1 }

// trouble is an error in place of a comparison.
type trouble struct{ error }

func (t trouble) Unwrap() error { return t.error }

// ExitCode is the exit code of the program.
func (trouble) ExitCode() int { return exitUsage }

// difference is the keys of the fences that differ, each list in ascending order.
type difference struct{ added, changed, removed []string }

func (d *difference) String() string {
	return fmt.Sprintf("%d added, %d changed, %d removed", len(d.added), len(d.changed), len(d.removed))
}

// differences compares fences with those of a set. It holds the served fences in memory until they
// are hashed.
func differences(ctx context.Context, r *remote, how *reading, set string, mine *geojson.Collection) (*difference, error) {
	d := &difference{added: []string{}, changed: []string{}, removed: []string{}}
	ours, err := hashes(mine)
	if err != nil {
		return nil, err
	}
	served, err := servedFences(ctx, r, how, set)
	if err != nil {
		return nil, err
	}
	theirs, err := hashes(served)
	if err != nil {
		return nil, err
	}
	for key, hash := range ours {
		if other, ok := theirs[key]; !ok {
			d.added = append(d.added, key)
		} else if other != hash {
			d.changed = append(d.changed, key)
		}
	}
	for key := range theirs {
		if _, ok := ours[key]; !ok {
			d.removed = append(d.removed, key)
		}
	}
	for _, list := range [][]string{d.added, d.changed, d.removed} {
		slices.Sort(list)
	}
	return d, nil
}

// servedFences returns the fences of a set; there are none if there is no such set.
func servedFences(ctx context.Context, r *remote, how *reading, set string) (*geojson.Collection, error) {
	o, err := how.options()
	if err != nil {
		return nil, err
	}
	res, err := r.open(ctx, http.MethodGet, pathOf("sets", set), nil, nil)
	if e, ok := errors.AsType[*statusError](err); ok && e.status == http.StatusNotFound {
		return &geojson.Collection{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return geojson.ReadGeoJSON(res.Body, "the set "+set, o)
}

// hashes returns a hash of each fence by its key: of its geometry, and of its properties whatever
// the order of their members.
func hashes(c *geojson.Collection) (map[string][sha256.Size]byte, error) {
	all := make(map[string][sha256.Size]byte, len(c.Fences))
	for i := range c.Fences {
		f := c.Fences[i]
		if f.Properties != nil {
			var v any
			dec := json.NewDecoder(bytes.NewReader(f.Properties))
			dec.UseNumber()
			if err := dec.Decode(&v); err != nil {
				return nil, fmt.Errorf("the properties of %q: %w", f.Key, err)
			}
			f.Properties, _ = json.Marshal(v) // what was decoded encodes
		}
		all[f.Key] = sha256.Sum256(f.AppendFeature(nil, nil))
	}
	return all, nil
}
