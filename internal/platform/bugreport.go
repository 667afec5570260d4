package platform

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"

	"paddock/internal/platform/deliver/hooks"
	"paddock/internal/platform/doctor/bundle"
	"paddock/internal/platform/doors"
	"paddock/internal/platform/ingest"
)

// maxReported bounds the objects, rules and sets of a bug report.
const maxReported = 1000

// bugReport writes an archive for a bug report. positions leaves coordinates in it.
func (p *Platform) bugReport(ctx context.Context, to io.Writer, positions bool) error {
	r := &bundle.Redactor{Positions: positions}
	p.hideSecrets(r)
	now := time.Now().UTC()
	w := bundle.NewWriter(to, "paddock-bugreport-"+now.Format("20060102T150405Z"), now, r)
	w.Text("version.txt", fmt.Appendf(nil, "%s\nasked at %s\n", p.opts.Version, now.Format(time.RFC3339)))
	w.Make("configuration.txt", p.writeConfig)
	if f := p.examined.Load(); f != nil {
		report, err := f.Examine(ctx, nil, false)
		if err != nil {
			return err
		}
		w.JSON("doctor.json", report)
	}
	w.Make("metrics.txt", p.writeMetrics)
	w.Make("log.txt", p.writeLog)
	w.JSON("doors.json", reportedDoors(&p.doors, positions))
	w.JSON("sets.json", p.reportedSets())
	rules := p.book.State().Rules().Rules()
	w.JSON("rules.json", rules[:min(len(rules), maxReported)])
	w.JSON("deliveries.json", p.reportedDeliveries())
	w.Make("goroutines.txt", func(to io.Writer) error { return pprof.Lookup("goroutine").WriteTo(to, 1) })
	if positions {
		w.JSON("objects.json", p.reportedObjects())
	}
	return w.Close()
}

// hideSecrets tells a redactor the secrets that this process knows.
func (p *Platform) hideSecrets(r *bundle.Redactor) {
	r.HideIn(p.opts.Config, p.opts.Webhooks, p.opts.Sinks, p.opts.Sources, p.reread.Load())
	if p.opts.Tunnel != nil {
		r.HideIn(p.opts.Tunnel.Settings)
	}
	p.busNow.mu.Lock()
	r.HideIn(p.busNow.config, p.busNow.file)
	p.busNow.mu.Unlock()
	r.Hide(p.ownKey)
	for after, more := "", true; more; more = after != "" {
		list := p.hooks.List(after, hooks.MaxLimit)
		for _, w := range list.Webhooks {
			if u, err := url.Parse(urlOf(w)); err == nil && len(u.RequestURI()) > 1 {
				r.Hide(strings.TrimPrefix(u.RequestURI(), "/")) // of some services it is the secret
			}
		}
		after = list.Next
	}
}

// urlOf returns the address of a webhook.
func urlOf(w *hooks.Shown) string {
	var of struct {
		URL string `json:"url"`
	}
	_ = json.Unmarshal(w.Webhook, &of) // it was made by this program
	return of.URL
}

// writeConfig writes the configuration in effect: a line for each key, with the place of its value.
func (p *Platform) writeConfig(to io.Writer) error {
	for _, v := range p.opts.Config.Values() {
		place := v.Place
		if place == "" {
			place = "default"
		}
		fmt.Fprintf(to, "%s: %s  # %s\n", v.Key, v.Text, place)
	}
	for _, k := range p.keys.List() {
		fmt.Fprintf(to, "key %s: verbs %v, fleets %v, sets %v, expires %v\n", k.Name, k.Verbs, k.Fleets, k.Sets, k.Expires)
	}
	for name, s := range p.sources.States() {
		fmt.Fprintf(to, "source %s: %s\n", name, s.Address)
	}
	for _, s := range p.sinks.List() {
		fmt.Fprintf(to, "sink %s: %s %s, events %s\n", s.ID, s.Kind, s.To, s.Events)
	}
	fmt.Fprintf(to, "webhooks: %d\n", p.hooks.Stats().Webhooks)
	if p.tunnel != nil {
		fmt.Fprintf(to, "tunnel: clients %d, visitors %v\n", len(p.opts.Tunnel.Settings.Clients), p.VisitorsAddr())
	}
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "PADDOCK_") || strings.HasPrefix(name, "GO") {
			fmt.Fprintf(to, "$%s is set\n", name)
		}
	}
	return nil
}

func (p *Platform) writeMetrics(to io.Writer) error {
	families, err := p.registry.Gather()
	if err != nil {
		return err
	}
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(to, f); err != nil {
			return err
		}
	}
	return nil
}

func (p *Platform) writeLog(to io.Writer) error {
	if p.opts.Log == nil {
		_, err := io.WriteString(to, "no lines are kept\n")
		return err
	}
	_, err := io.WriteString(to, strings.Join(p.opts.Log.Lines(), "\n")+"\n")
	return err
}

// reportedDoors returns the counts of doors, and their last rejections. Without positions a
// rejection has its field and no input, as both may hold coordinates.
func reportedDoors(all *doors.Doors, positions bool) []doors.Status {
	list := all.All()
	if positions {
		return list
	}
	for i := range list {
		for k := range list[i].Last {
			r := &list[i].Last[k]
			*r = doors.Rejection{At: r.At, Object: r.Object, Field: r.Field, Reason: "(left out: it may hold coordinates)"}
		}
	}
	return list
}

// reportedObject is the last position of an object.
type reportedObject struct {
	Fleet string    `json:"fleet"`
	ID    string    `json:"id"`
	Lon   float64   `json:"lon"`
	Lat   float64   `json:"lat"`
	At    time.Time `json:"t"`
	Seen  time.Time `json:"seen"`
}

func (p *Platform) reportedObjects() []reportedObject {
	list := []reportedObject{}
	objects, _ := p.pipeline.Objects(ingest.Query{Limit: maxReported})
	for i := range objects {
		o := &objects[i]
		list = append(list, reportedObject{o.Fleet, o.ID, o.Point.Lon, o.Point.Lat, o.Time.Time(), o.Arrived.Time()})
	}
	return list
}

// reportedSet describes a set without its shapes.
type reportedSet struct {
	Name       string `json:"name"`
	Kind       string `json:"kind"`
	Generation uint64 `json:"generation"`
	Fences     int    `json:"fences"`
	Edges      int    `json:"edges"`
	Findings   int    `json:"findings"`
	IndexBytes int64  `json:"index_bytes"`
	Building   bool   `json:"building,omitempty"`
}

func (p *Platform) reportedSets() []reportedSet {
	list := []reportedSet{}
	for s := range p.catalog.All() {
		if len(list) == maxReported {
			break
		}
		snap := s.Snapshot()
		stats := snap.Stats()
		list = append(list, reportedSet{
			s.Name(), string(s.Kind()), uint64(snap.Generation()), snap.Len(), stats.Edges, len(snap.Findings()), int64(stats.Bytes), s.Building(),
		})
	}
	return list
}

// reportedDelivery is the state of a webhook or a sink, without its address.
type reportedDelivery struct {
	ID    string      `json:"id"`
	Kind  string      `json:"kind"`
	State hooks.State `json:"state"`
}

func (p *Platform) reportedDeliveries() []reportedDelivery {
	list := []reportedDelivery{}
	for _, w := range p.hooks.List("", maxReported).Webhooks {
		list = append(list, reportedDelivery{w.ID, "webhook", w.State})
	}
	for _, s := range p.sinks.List() {
		list = append(list, reportedDelivery{s.ID, s.Kind, s.State})
	}
	return list
}
