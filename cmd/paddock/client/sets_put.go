package client

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"paddock/fence"
	"paddock/fence/geojson"
)

// setsPutCmd makes files the sets of a platform.
type setsPutCmd struct {
	Files   []string `arg:"" name:"file" help:"Files of GeoJSON, each the set that it is named after; - is standard input, and needs --name."`
	Name    string   `placeholder:"SET" help:"The set, in place of the name of the one file."`
	IfMatch string   `placeholder:"ETAG" help:"Only if the set is still in this state, as sets show prints it; * is any state. For one file."`
	DryRun  bool     `help:"Change nothing: print the findings, and what would change."`
	JSON    bool     `name:"json" help:"Print an object for each file, on a line."`
	reading
	remote
}

// Help describes the output.
func (*setsPutCmd) Help() string {
	return `Each file replaces a whole set in one publication; a set that is not there is made. A feature that cannot be a fence costs no other one, and is a finding. The name of a set is that of its file in lower case, with single dashes for other characters than letters and digits.

Exit codes: 0 all files are sets now, 1 one could not be read or was refused; those before it are sets.

    paddock sets put depots.geojson zones.geojson
    paddock sets put depots.geojson --dry-run
    ogr2ogr -f GeoJSON /vsistdout/ tracts.shp | paddock sets put - --name tracts`
}

// Run puts the files, one after the other.
func (k *setsPutCmd) Run(ctx context.Context, c *Console) error {
	if len(k.Files) > 1 && k.Name+k.IfMatch != "" {
		return usagef("--name and --if-match are for one file, not for %d", len(k.Files))
	}
	names := make([]string, len(k.Files))
	for i, file := range k.Files {
		name, err := setName(file, k.Name)
		if err != nil {
			return err
		}
		names[i] = name
	}
	for i, file := range k.Files {
		put := k.put
		if k.DryRun {
			put = k.tryOut
		}
		if err := put(ctx, c, file, names[i]); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

// setName returns the set of a file: the given one, or that of its name.
func setName(file, given string) (string, error) {
	if given != "" {
		return given, nil
	}
	if file == "-" {
		return "", usagef("-: standard input has no name: give --name")
	}
	name := fence.Slug(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)))
	if name == "" {
		return "", usagef("%s: its name makes no name of a set: give --name", file)
	}
	return name, nil
}

// openFile opens a file, or standard input.
func openFile(c *Console, file string) (io.ReadCloser, error) {
	if file == "-" {
		return io.NopCloser(c.Stdin), nil
	}
	return os.Open(file)
}

// put sends one file as it is read.
func (k *setsPutCmd) put(ctx context.Context, c *Console, file, name string) error {
	in, err := openFile(c, file)
	if err != nil {
		return err
	}
	defer in.Close()
	res, err := k.send(ctx, http.MethodPut, pathOf("sets", name), ifMatch(k.IfMatch), in)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var raw json.RawMessage
	if err := json.NewDecoder(io.LimitReader(res.Body, maxReply)).Decode(&raw); err != nil {
		return fmt.Errorf("the answer of %s: %w", k.found.url, err)
	}
	if k.JSON {
		return c.printLine(raw)
	}
	var s shownSet
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	verb := "replaced"
	if res.StatusCode == http.StatusCreated {
		verb = "made"
	}
	fmt.Fprintf(c.Stdout, "%s: %s, %d fences, generation %d, findings: %d\n", name, verb, s.Fences, s.Generation, s.Findings)
	printFindings(c, file, s.Reasons)
	return nil
}

// printFindings tells what is wrong with a file.
func printFindings(c *Console, file string, findings []shownFinding) {
	for i := range findings {
		fmt.Fprintf(c.Stderr, "%s: %s\n", file, findings[i].String())
	}
}

// tryOut reads one file as the platform would, and compares it with the set that is served.
func (k *setsPutCmd) tryOut(ctx context.Context, c *Console, file, name string) error {
	mine, err := k.read(c, file)
	if err != nil {
		return err
	}
	d, err := differences(ctx, &k.remote, &k.reading, name, mine)
	if err != nil {
		return err
	}
	findings := []shownFinding{}
	for _, f := range mine.Findings {
		findings = append(findings, shownFinding{f.Feature, f.Key, string(f.Code), f.Reason, f.Fatal})
	}
	if k.JSON {
		return c.printLine(struct {
			Set     string `json:"set"`
			Fences  int    `json:"fences"`
			Added   int    `json:"added"`
			Changed int    `json:"changed"`
			Removed int    `json:"removed"`

			Reasons []shownFinding `json:"reasons"`
		}{name, len(mine.Fences), len(d.added), len(d.changed), len(d.removed), findings})
	}
	fmt.Fprintf(c.Stdout, "%s: %d fences, findings: %d; would be: %s\n", name, len(mine.Fences), len(findings)+mine.Omitted, d)
	printFindings(c, file, findings)
	return nil
}

// read reads a file of GeoJSON.
func (r *reading) read(c *Console, file string) (*geojson.Collection, error) {
	o, err := r.options()
	if err != nil {
		return nil, err
	}
	in, err := openFile(c, file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return geojson.ReadGeoJSON(bufio.NewReaderSize(in, 64<<10), file, o)
}
