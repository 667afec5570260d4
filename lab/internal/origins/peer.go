package origins

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"paddock/lab/internal/documents"
	"paddock/lab/internal/peers"
	"paddock/lab/internal/scenario/tunneled"
	"paddock/lab/perf"
	"paddock/lab/process"
)

// Peers says which programs of the documents are used.
type Peers struct {
	None  bool
	Only  []string          // by name, all if it is empty
	Paths map[string]string // by name, of programs that are not looked for
}

// goHTTPTunnel is the name among the contenders of a peer that is two programs.
const goHTTPTunnel = "go-http-tunnel"

// find returns the path of a program. The error says how to get it.
func (p *Peers) find(program string) (string, error) {
	if p.None || len(p.Only) > 0 && !slices.Contains(p.Only, program) {
		return "", errors.New("--peers leaves out " + program)
	}
	path, err := peers.Find(program, p.Paths)
	if errors.Is(err, errors.ErrUnsupported) {
		err = errors.New(strings.ReplaceAll(err.Error(), ": "+errors.ErrUnsupported.Error(), ""))
	}
	return path, err
}

// missing returns why a contender cannot be run; nil if it can.
func (p *Peers) missing(name string) error {
	if name == goHTTPTunnel {
		if _, err := p.find(peers.Tunneld); err != nil {
			return err
		}
		name = peers.Tunnel
	}
	_, err := p.find(name)
	return err
}

// names returns the contenders of a row besides ours: those of the document, or for a service of
// gofence that is not there wrk, which asks ours.
func (p *Peers) names(row *documents.Row) []string {
	if row.Table.Group == "fence" && p.missing(peers.Gofence) != nil && p.missing(peers.Wrk) == nil {
		return []string{peers.Wrk}
	}
	return row.Peers
}

// of returns those of a job that can be run, and notes why others cannot.
func (p *Peers) of(j *job) (names []string) {
	for _, row := range j.rows {
		for _, name := range slices.Concat(p.names(row), row.Peers) {
			if err := p.missing(name); err != nil {
				j.gone[name] = err
			} else if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// served is what a run asks.
type served struct {
	name    string            // of the server; "" = the run starts its own
	words   map[string]string // $URL and the like
	parents string
	started time.Duration // from the start of the server until it listened; 0 = not known
	stop    func() error
}

// replace puts a value in the place of the word that an argument begins with.
func (s *served) replace(argument string) string {
	for word, value := range s.words {
		if rest, ok := strings.CutPrefix(argument, word); ok {
			return value + rest
		}
	}
	return argument
}

// at takes the result of the start of a peer.
func (s *served) at(name string, stand *peers.Stand, err error) error {
	if err == nil {
		s.name, s.words["$ADDR"], s.words["$URL"], s.stop = name, stand.Addr(), "http://"+stand.Addr(), stand.Stop
	}
	return err
}

// serve starts the server of a row.
func (r *Runner) serve(ctx context.Context, s *served, row *documents.Row) error {
	kind, ofFences := strings.CutPrefix(row.Server, "fence ")
	path, err := r.Peers.find(row.Server)
	switch {
	case ofFences, row.Table.Group == "profile":
		subject, err := r.subject(s)
		if err != nil || !ofFences {
			return err
		}
		server, search, err := subject.Start(ctx, kind)
		if err == nil {
			s.name, s.words["$URL"], s.words["$SEARCH"], s.stop, s.started = "paddock fence", server.URL, search, server.Stop, server.Started
		}
		return err
	case row.Server == "":
		return nil
	case row.Server == peers.Nginx && err == nil:
		stand, err := peers.StartNginx(ctx, path, peers.OriginalNginx)
		return s.at(peers.Nginx, stand, err)
	case row.Server == peers.GoHTTP && err == nil:
		stand, err := peers.StartGoHTTP(ctx, path)
		return s.at(peers.GoHTTP, stand, err)
	}
	dir, remove, err := process.TempDir("paddock-page-")
	if err != nil {
		return err
	}
	if err := peers.WriteStatic(dir, "index.html", peers.PageBytes); err != nil {
		return errors.Join(err, remove())
	}
	web, err := process.StartWeb(ctx, r.Program, dir)
	if err != nil {
		return errors.Join(err, remove())
	}
	s.name, s.words["$URL"], s.stop = "paddock web", "http://"+web.Addr(), func() error { return errors.Join(web.Stop(), remove()) }
	return nil
}

// subject names the files of the rows of gofence.
func (r *Runner) subject(s *served) (*Subject, error) {
	subject, err := r.Subject()
	if err == nil {
		s.parents, s.words["$DIR"], s.words["$BODIES"] = subject.Parents, subject.Dir, subject.Bodies
	}
	return subject, err
}

// take runs a contender of a job once, with the server that it asks or is.
func (r *Runner) take(ctx context.Context, j *job, name string) (t *take, err error) {
	program, _ := r.Peers.find(name) // was found before
	s, row, lines := &served{words: map[string]string{}, stop: func() error { return nil }}, *j.rows[0], j.lines
	var stand *peers.Stand
	switch name {
	case ours, peers.Wrk:
		err = r.serve(ctx, s, &row)
	case peers.Ab, peers.Goab:
		if row.Server == "web" {
			row.Server = peers.GoHTTP
		}
		err = r.serve(ctx, s, &row)
	case peers.Gofast:
		stand, err = peers.StartGofast(ctx, program)
		err = s.at(name, stand, err)
	case peers.NATSServer:
		stand, err = peers.StartNATS(ctx, []string{program}, nil)
		err = s.at(name, stand, err)
		lines = [][]string{append(slices.Clone(lines[0]), "--addr", "$ADDR")}
	case peers.Gofence:
		lines, err = r.gofence(ctx, s, program, &row, lines)
	default:
		lines, err = r.tunnel(ctx, s, name, lines[0])
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	if slices.Contains([]string{peers.Ab, peers.Goab, peers.Wrk, peers.Gofast}, name) {
		return client(ctx, s, name, program, lines)
	}
	return r.commands(ctx, s, lines)
}

// gofenceColumns are the columns of a profile of gofence, as the document names them.
const gofenceColumns = `fence.Get=\.(\(\*?\w+\)\.)?Get$;json.Marshal=^encoding/json\.Marshal$;json.Unmarshal=^encoding/json\.Unmarshal$;` +
	`http.readRequest=^net/http\.(\(\*conn\)\.)?readRequest$;http.finishRequest=^net/http\.\(\*response\)\.finishRequest$;GC=^runtime\.gcBgMarkWorker`

// gofence starts gofence, and returns our command lines that ask it.
func (r *Runner) gofence(ctx context.Context, s *served, program string, row *documents.Row, lines [][]string) ([][]string, error) {
	subject, err := r.subject(s)
	if err != nil {
		return nil, err
	}
	o := peers.GofenceSettings{Kind: strings.TrimPrefix(row.Server, "fence "), Dir: subject.Dir, Parents: subject.Parents}
	if o.Kind == "" {
		o.Kind, o.Profile = row.Name, true
		lines = [][]string{{"profile", "--url", "$SEARCH", "--bodies", "$BODIES", "-d", after(lines[0], "-d"), "--buckets", gofenceColumns, "--json"}}
	}
	stand, err := peers.StartGofence(ctx, program, o)
	err = s.at(peers.Gofence, stand, err)
	s.words["$SEARCH"] = s.words["$URL"] + "/fence/" + url.PathEscape(subject.Set) + "/search"
	return lines, err
}

// tunnel starts another tunnel before a service of ours, and returns our command line that asks it.
func (r *Runner) tunnel(ctx context.Context, s *served, name string, words []string) (lines [][]string, err error) {
	service, err := tunneled.Serve(ctx, r.Program, "--corpus")
	if err != nil {
		return nil, err
	}
	behind := peers.Behind{Target: service.Addr(), Host: tunneled.Host}
	var stand *peers.Stand
	if program, missing := r.Peers.find(name); missing == nil {
		stand, err = peers.StartKoding(ctx, program, behind)
	} else {
		server, _ := r.Peers.find(peers.Tunneld) // these are there
		client, _ := r.Peers.find(peers.Tunnel)
		stand, err = peers.StartTunnel(ctx, server, client, behind)
	}
	if err = s.at(name, stand, err); err != nil {
		return nil, errors.Join(err, service.Stop())
	}
	s.stop = func() error { return errors.Join(stand.Stop(), service.Stop()) }
	return [][]string{{
		words[1], "$URL/", "--corpus", "-H", "Host: " + tunneled.Host, "--rate", after(words, "--rate"), "-d", after(words, "-d"), "-q", "--json",
	}}, nil
}

// client runs a foreign client with the flags of our command lines.
func client(ctx context.Context, s *served, name, program string, lines [][]string) (t *take, err error) {
	t = &take{server: s.name, foreign: true}
	for _, words := range lines {
		var requests, conns int
		o := perf.DefaultOptions()
		for flag, to := range map[string]*int{
			"-n": &requests, "-c": &conns, "--count": &o.Count, "--routines": &o.Routines, "--conns": &o.Conns,
			"--batchsize": &o.Batch, "--payload": &o.Payload, "--stream": &o.Stream,
		} {
			if n, err := strconv.Atoi(after(words, flag)); err == nil {
				*to = n
			}
		}
		var f *peers.Figures
		switch target := s.replace(words[len(words)-1]); name {
		case peers.Ab:
			f, err = peers.RunAb(ctx, program, target, requests, conns, slices.Contains(words, "-k"))
		case peers.Goab:
			f, err = peers.RunGoab(ctx, program, target, requests, conns)
		case peers.Gofast:
			o.Do = perf.Do(after(words, "--do"))
			f, err = peers.RunGofast(ctx, program, s.words["$ADDR"], o)
		case peers.Wrk:
			d, _ := time.ParseDuration(after(words, "-d")) // a number of seconds of ours
			f, err = peers.RunWrk(ctx, program, target, s.words[after(words, "--bodies")], 50, d)
		}
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(f)
		if err = errors.Join(err, t.add(append(text, '\n'))); err != nil || name == peers.Goab { // whose -k is another flag
			return t, err
		}
	}
	return t, nil
}
