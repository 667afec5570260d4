package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"paddock/cmd/paddock/output"
	"paddock/internal/process/config"
)

// Sets works on the sets of fences of a running platform.
type Sets struct {
	Ls   setsLsCmd   `cmd:"" help:"List sets."`
	Show setsShowCmd `cmd:"" help:"Describe a set with its findings, or print its fences."`
	Put  setsPutCmd  `cmd:"" help:"Make files of GeoJSON the sets that they are named after."`
	Diff setsDiffCmd `cmd:"" help:"Compare a file of GeoJSON with the set that is served."`
	Rm   setsRmCmd   `cmd:"" help:"Remove a set: objects leave its fences."`
}

// shownSet is a set as the API shows it.
type shownSet struct {
	Name       string
	Generation uint64
	Fences     int
	Edges      int
	Index      struct {
		Kind     string
		Bytes    int64
		Building bool
	}
	BBox     *[4]float64
	Findings int
	Source   *shownSource
	ETag     string
	Reasons  []shownFinding
}

// shownSource is the file of a set.
type shownSource struct {
	File   string
	Loaded time.Time
	Error  string
}

// shownFinding is a defect of a set's data.
type shownFinding struct {
	Feature int    `json:"feature"`
	Fence   string `json:"fence,omitempty"`
	Code    string `json:"code"`
	Reason  string `json:"reason"`
	Refused bool   `json:"refused"`
}

func (f *shownFinding) String() string {
	text := fmt.Sprintf("feature %d", f.Feature)
	if f.Feature < 0 {
		text = "the file"
	}
	if f.Fence != "" {
		text += " " + strconv.Quote(f.Fence)
	}
	if f.Refused {
		text += ": refused"
	}
	return plain(text + ": " + f.Code + ": " + f.Reason)
}

// setsLsCmd lists sets.
type setsLsCmd struct {
	JSON bool `name:"json" help:"Print an array of objects."`
	remote
}

// Run prints a line for each set. Files without a set are warnings.
func (k *setsLsCmd) Run(ctx context.Context, c *Console) error {
	var list struct {
		Sets    []json.RawMessage
		Failing []shownSource
	}
	if err := k.ask(ctx, &list, http.MethodGet, pathOf("sets"), nil, nil); err != nil {
		return err
	}
	for _, f := range list.Failing {
		fmt.Fprintf(c.Stderr, "warning: %s\n", plain(f.File+": "+f.Error))
	}
	if k.JSON {
		return c.printJSON(list.Sets)
	}
	t := newTable(c.Stdout, "NAME", "FENCES", "GENERATION", "FINDINGS", "INDEX", "MEMORY", "FILE")
	for _, raw := range list.Sets {
		var s shownSet
		if err := json.Unmarshal(raw, &s); err != nil {
			return err
		}
		file := "-"
		if s.Source != nil {
			if file = s.Source.File; s.Source.Error != "" {
				file += " (" + s.Source.Error + ")"
			}
		}
		t.row(s.Name, strconv.Itoa(s.Fences), strconv.FormatUint(s.Generation, 10), strconv.Itoa(s.Findings), s.Index.Kind,
			fmt.Sprint(config.Size(s.Index.Bytes)), file)
	}
	return t.flush()
}

// setsShowCmd describes a set.
type setsShowCmd struct {
	Name    string `arg:"" help:"The set."`
	GeoJSON bool   `name:"geojson" help:"Print its fences as a FeatureCollection."`
	Output  string `short:"o" default:"-" placeholder:"FILE" help:"The file of --geojson; - is standard output."`
	JSON    bool   `name:"json" help:"Print an object as GET /v1/sets/{set}?findings=1 answers it."`
	remote
}

// Help shows examples.
func (*setsShowCmd) Help() string {
	return `    paddock sets show depots
    paddock sets show depots --geojson -o depots.geojson
    paddock sets put depots.geojson --if-match "$(paddock sets show depots --json | jq -r .etag)"`
}

// Run prints the description, or the fences.
func (k *setsShowCmd) Run(ctx context.Context, c *Console) error {
	if k.GeoJSON {
		return k.printFences(ctx, c)
	}
	var raw json.RawMessage
	if err := k.ask(ctx, &raw, http.MethodGet, pathOf("sets", k.Name)+"?findings=1", nil, nil); err != nil {
		return err
	}
	if k.JSON {
		return c.printJSON(raw)
	}
	var s shownSet
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	box := "none"
	if s.BBox != nil {
		box = strings.Trim(fmt.Sprint(*s.BBox), "[]")
	}
	fmt.Fprintf(c.Stdout, "set: %s\nfences: %d, with %d edges\ngeneration: %d\netag: %s\nbox: %s\nindex: %s, %v\nfindings: %d\n",
		plain(s.Name), s.Fences, s.Edges, s.Generation, s.ETag, box, s.Index.Kind, config.Size(s.Index.Bytes), s.Findings)
	for i := range s.Reasons {
		fmt.Fprintf(c.Stdout, "  %s\n", s.Reasons[i].String())
	}
	return nil
}

func (k *setsShowCmd) printFences(ctx context.Context, c *Console) error {
	ctx, stop := interruptible(ctx) // so that no part of a file is left
	defer stop()
	res, err := k.open(ctx, http.MethodGet, pathOf("sets", k.Name), nil, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = output.Write(c.Stdout, k.Output, func(w io.Writer) error {
		_, err := io.Copy(w, res.Body)
		return err
	})
	return err
}

// interruptible returns a context that SIGINT or SIGTERM ends.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
}

// setsRmCmd removes a set.
type setsRmCmd struct {
	Name    string `arg:"" help:"The set."`
	IfMatch string `placeholder:"ETAG" help:"Only if the set is still in this state, as sets show prints it."`
	remote
}

// Run removes it.
func (k *setsRmCmd) Run(ctx context.Context) error {
	return k.ask(ctx, nil, http.MethodDelete, pathOf("sets", k.Name), ifMatch(k.IfMatch), nil)
}

// ifMatch returns the header of a conditional change.
func ifMatch(etag string) http.Header {
	if etag == "" {
		return nil
	}
	if etag != "*" && !strings.HasPrefix(etag, `"`) {
		etag = `"` + etag + `"` // a shell has taken the quotes off
	}
	return http.Header{"If-Match": {etag}}
}
