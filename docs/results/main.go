// Command results prints the table of measured ratios in README.md, and the figures of
// docs/start/sizing.md. Each JSON file beside it holds the ratios of one comparison, with the
// command, the date and the machine of the run; sizing.json holds the figures of that page, and
// origins.json the report that docs/reference/origins.md shows.
//
//	go run ./docs/results -w     # in the repository's root: rewrite both pages
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// The table in README.md stands between these two lines.
const (
	begin = "<!-- make ratios: begin -->\n"
	end   = "<!-- make ratios: end -->\n"
)

// shown lists the ratios of README's table: of each file the goal, the contender, its base and the
// metric.
var shown = map[string][][4]string{
	"bus.json": {
		{"publish-128", "paddock", "nats-server", "server_us_per_op"},
		{"one-to-one-128", "paddock", "nats-server", "server_us_per_op"},
		{"fan-out-8", "paddock", "nats-server", "server_us_per_op"},
		{"queue-2", "paddock", "nats-server", "server_us_per_op"},
		{"request-50", "paddock", "nats-server", "p50_us"},
	},
	"durable.json": {
		{"feed", "durable", "volatile", "ops_per_s"},
		{"http", "durable", "3 fdatasync + volatile", "p50_us"},
	},
	"fence.json": {
		{"look-up-buses", "golang/geo", "cellmap", "ns_per_op"},
		{"look-up-buses", "tidwall", "cellmap", "ns_per_op"},
		{"http-post", "cellmap", "nginx", "ops_per_s"},
	},
	"load.json": {
		{"get", "paddock", "wrk", "client_us_per_op"},
		{"post", "paddock", "wrk, script", "client_us_per_op"},
	},
	"tunnel.json": {
		{"tcp", "paddock tcp, plain", "rathole, plain", "server_us_per_op"},
		{"direct", "paddock tcp, plain, direct", "rathole, plain", "server_us_per_op"},
		{"direct", "paddock tcp, plain", "rathole, plain", "server_us_per_op"},
		{"http", "paddock http, TLS", "nginx alone", "server_us_per_op"},
	},
	"web.json": {
		{"static-3.5kB", "paddock", "nginx", "server_us_per_op"},
	},
	"wire.json": {
		{"request", "wire", "grpc", "ops_per_s"},
		{"post", "wire", "grpc", "ops_per_s"},
		{"bulk", "wire", "raw", "bytes_per_s"},
	},
}

// A run is one file of results, as a comparison writes it with --summary.
type run struct {
	Date    time.Time `json:"date"`
	Machine struct {
		CPU    string `json:"cpu"`
		Cores  int    `json:"cores"`
		Kernel string `json:"kernel"`
		Go     string `json:"go"`
	} `json:"machine"`
	Command  []string `json:"command"`
	Rounds   int      `json:"rounds"`
	Duration string   `json:"duration"`
	Ratios   []ratio  `json:"ratios"`
}

// A ratio is the figure of a contender divided by that of another: the median of the rounds, the
// smallest and the largest.
type ratio struct {
	Goal      string  `json:"goal"`
	Title     string  `json:"title"`
	Contender string  `json:"contender"`
	Base      string  `json:"base"`
	Metric    string  `json:"metric"`
	Median    float64 `json:"median"`
	Least     float64 `json:"min"`
	Most      float64 `json:"max"`
}

// metrics names the figures of a comparison.
var metrics = map[string]string{
	"ops_per_s": "operations a second (more is better)", "bytes_per_s": "bytes a second (more is better)",
	"p50_us": "median time", "p99_us": "99th percentile", "ns_per_op": "time", "ms": "time",
	"server_us_per_op": "server's processor time", "machine_us_per_op": "processor time of both sides",
	"client_us_per_op": "generator's processor time", "client_user_us_per_op": "generator's user time",
}

func main() {
	write := flag.Bool("w", false, "rewrite the tables in README.md and "+sizingPage)
	flag.Parse()
	if err := update(*write); err != nil {
		fmt.Fprintln(os.Stderr, "results:", err)
		os.Exit(1)
	}
}

func update(write bool) error {
	results := os.DirFS("docs/results")
	text, err := table(results)
	if err != nil {
		return err
	}
	figures, err := sizing(results)
	if err != nil {
		return err
	}
	if !write {
		fmt.Print(text, "\n", figures)
		return nil
	}
	return errors.Join(rewrite("README.md", begin, text, end), rewrite(sizingPage, sizingBegin, figures, sizingEnd))
}

// rewrite puts a text between the marks of a page.
func rewrite(page, begin, text, end string) error {
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	changed, err := splice(string(old), begin, text, end)
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	return os.WriteFile(page, []byte(changed), 0o644)
}

// table returns the ratios shown of the runs of a directory as Markdown, in the order of the files.
func table(dir fs.FS) (string, error) {
	var rows, sources strings.Builder
	rows.WriteString("| part | measured | ratio of | to | median | spread |\n|---|---|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(shown)) {
		r, err := read(dir, name)
		if err != nil {
			return "", err
		}
		part := strings.TrimSuffix(name, ".json")
		for _, x := range r.Ratios {
			fmt.Fprintf(&rows, "| %s | %s: %s | %s | %s | %.2f | %.2f to %.2f |\n", part, x.Title, metrics[x.Metric], x.Contender, x.Base, x.Median, x.Least, x.Most)
		}
		m := r.Machine
		fmt.Fprintf(&sources, "- %s: `%s`, %s; %s, %d cores, Linux %s, %s; %d rounds, windows of %s\n", part,
			strings.Join(r.Command, " "), r.Date.Format(time.DateOnly), m.CPU, m.Cores, m.Kernel, m.Go, r.Rounds, r.Duration)
	}
	return rows.String() + "\n" + sources.String(), nil
}

// read reads the run of a file, with the ratios that README shows.
func read(dir fs.FS, name string) (*run, error) {
	text, err := fs.ReadFile(dir, name)
	if err != nil {
		return nil, err
	}
	r := new(run)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var picked []ratio
	for _, want := range shown[name] {
		at := slices.IndexFunc(r.Ratios, func(x ratio) bool {
			return x.Goal == want[0] && x.Contender == want[1] && x.Base == want[2] && x.Metric == want[3]
		})
		if at < 0 {
			return nil, fmt.Errorf("%s has no ratio %s", name, strings.Join(want[:], " "))
		}
		picked = append(picked, r.Ratios[at])
	}
	r.Ratios = picked
	return r, nil
}

// splice puts a text between the two marks of a page.
func splice(page, begin, text, end string) (string, error) {
	head, rest, ok := strings.Cut(page, begin)
	_, tail, also := strings.Cut(rest, end)
	if !ok || !also {
		return "", errors.New("the marks are missing: " + strings.TrimSpace(begin) + " and " + strings.TrimSpace(end))
	}
	return head + begin + text + end + tail, nil
}
