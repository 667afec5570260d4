package tracking

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"paddock/fence"
	"paddock/fence/track"
	"paddock/fence/track/rule"
	"paddock/internal/platform/events"
	"paddock/internal/platform/ingest"
	"paddock/internal/platform/rulebook"
	"paddock/internal/platform/views"
	"paddock/internal/process/lifecycle"
)

// Rules is the price of rules, and of the change of one of them while positions come in: of the
// platform's pipeline in this process, without doors and journal.
type Rules struct {
	Policy    string       `json:"policy"`
	Objects   int          `json:"objects"`
	Rules     int          `json:"rules"`
	PerObject float64      `json:"bytes_per_object"`
	PerRule   float64      `json:"bytes_per_rule"`
	Changes   []RuleChange `json:"changes"`
}

// RuleChange is changes of rules of one kind, one rule at a time. Times are in milliseconds.
type RuleChange struct {
	Of      string `json:"of"` // the objects of a rule: one, or all
	Changes int    `json:"changes"`
	// InUse is the time until new positions are judged by the rule, Everywhere until it has been
	// brought to every object.
	InUse      Spread `json:"in_use_ms"`
	Everywhere Spread `json:"everywhere_ms"`
	// Wait is the longest time that a position waits meanwhile, Idle in as long a time without a
	// change.
	Wait Spread `json:"longest_wait_ms"`
	Idle Spread `json:"longest_wait_idle_ms"`
}

const (
	// ruleChanges is the number of changes of a kind.
	ruleChanges = 20
	// fixesEach is the number of positions of an object before the changes.
	fixesEach = 3
	// portion is the number of positions of a batch.
	portion = 1000
	// shortest is the least time in which the waits are measured.
	shortest = 20 * time.Millisecond
)

// discard is a publisher that drops events.
type discard struct{}

func (discard) Publish([]events.Record) {}

// change measures the rules under the first policy.
func (b *bench) change(ctx context.Context) (err error) {
	policy, err := track.ParsePolicy(b.Policies[0])
	if err != nil {
		return err
	}
	vehicles := b.fleet()
	if err := b.warm(vehicles); err != nil {
		return err
	}
	before := heap()
	catalog, book := &fence.Catalog{}, rulebook.New(policy)
	for _, s := range b.sets {
		if err := catalog.Add(s); err != nil {
			return err
		}
	}
	of, err := b.rules(book, vehicles)
	if err != nil {
		return err
	}
	r := &Rules{Policy: b.Policies[0], Objects: b.Objects, Rules: book.State().Rules().Len()}
	rules := heap()
	r.PerRule = float64(rules-before) / float64(r.Rules)
	p := ingest.New(ingest.Config{Fences: views.New(catalog, book), Publisher: discard{}})
	defer p.Close(context.WithoutCancel(ctx))
	b.Say("rules: %d rules, %d objects with %d positions each", r.Rules, r.Objects, fixesEach)
	if err := fill(ctx, p, vehicles); err != nil {
		return err
	}
	r.PerObject = float64(heap()-rules) / float64(r.Objects)
	for _, kind := range []string{ofOne, ofAll} {
		if len(of[kind]) == 0 {
			continue
		}
		b.Say("rules: changes of a rule of %s", kind)
		c := RuleChange{Of: kind, Changes: ruleChanges}
		if err := c.measure(ctx, p, book, of[kind], vehicles); err != nil {
			return err
		}
		r.Changes = append(r.Changes, c)
	}
	runtime.KeepAlive(book)
	b.report.Rules = r
	return nil
}

// The kinds of rules by their objects.
const (
	ofOne = "one object"
	ofAll = "all objects"
)

// warm makes what the fences make at their first use, which is no memory of an object.
func (b *bench) warm(vehicles *fleet) error {
	v, err := b.view(b.Policies[0])
	if err != nil {
		return err
	}
	shard := track.NewShard(track.Options{})
	shard.SetView(v, epoch)
	var events []track.Event
	for range min(10_000, len(vehicles.at)) {
		_, events = shard.Apply(vehicles.next(), events[:0])
	}
	return nil
}

// rules puts rules into a book: one of each set for all objects, and the rest for one object each.
// It returns the rules that may be changed, by their kind.
func (b *bench) rules(book *rulebook.Book, vehicles *fleet) (of map[string][]*rule.Rule, err error) {
	var files []*rule.Rule
	of = map[string][]*rule.Rule{}
	for i := range b.Rules {
		kind := ofAll
		r := &rule.Rule{ID: fmt.Sprintf("rule-%d", i), Set: b.sets[i%len(b.sets)].Name(), Objects: "*", Detect: rule.Enter | rule.Exit}
		if i >= len(b.sets) {
			r.Objects, kind = vehicles.at[i*7919%len(vehicles.at)].ID, ofOne
		}
		if kind == ofOne && b.Rules-i > ruleChanges {
			files = append(files, r)
			continue
		}
		if _, _, err := book.Put(r, allow); err != nil {
			return nil, err
		}
		of[kind] = append(of[kind], r)
	}
	_, err = book.SetFiles(rulebook.Files{Rules: files, RulesFile: "rules.yaml"})
	return of, err
}

func allow(*rule.Rule) error { return nil }

// fill gives each object its first positions.
func fill(ctx context.Context, p *ingest.Pipeline, vehicles *fleet) error {
	for left := fixesEach * len(vehicles.at); left > 0; {
		batch := &ingest.Batch{}
		for range min(portion, left) {
			p := *vehicles.next()
			p.ID = strings.Clone(p.ID) // of this position alone, as a door makes it
			batch.Positions = append(batch.Positions, p)
		}
		left -= len(batch.Positions)
		if _, err := p.Submit(ctx, batch); err != nil {
			return err
		}
	}
	return idle(ctx, p)
}

// idle waits until no partition has postponed work.
func idle(ctx context.Context, p *ingest.Pipeline) error {
	for p.Postponed() > 0 {
		if err := lifecycle.Sleep(ctx, 100*time.Microsecond); err != nil {
			return err
		}
	}
	return nil
}

// measure changes one rule after the other, while positions come in one by one. A rule that is
// changed again tells what it told at first.
func (c *RuleChange) measure(ctx context.Context, p *ingest.Pipeline, book *rulebook.Book, rules []*rule.Rule, vehicles *fleet) error {
	probing, stop := context.WithCancel(ctx)
	waits := &waits{}
	var prober sync.WaitGroup
	prober.Go(func() { waits.probe(probing, p, vehicles) })
	defer prober.Wait()
	defer stop()
	var inUse, everywhere, during, between []float64
	for i := range c.Changes {
		changed := *rules[i%len(rules)]
		if i/len(rules)%2 == 0 {
			changed.Detect = rule.Exit
		}
		waits.longest() // forgets the earlier ones
		begun := time.Now()
		if _, _, err := book.Put(&changed, allow); err != nil {
			return err
		}
		if err := p.Settle(); err != nil {
			return err
		}
		inUse = append(inUse, millis(time.Since(begun)))
		if err := idle(ctx, p); err != nil {
			return err
		}
		all := time.Since(begun)
		everywhere = append(everywhere, millis(all))
		length := max(all, shortest)
		if err := lifecycle.Sleep(ctx, length-all); err != nil {
			return err
		}
		during = append(during, millis(waits.longest()))
		if err := lifecycle.Sleep(ctx, length); err != nil {
			return err
		}
		between = append(between, millis(waits.longest()))
	}
	c.InUse, c.Everywhere, c.Wait, c.Idle = spread(inUse), spread(everywhere), spread(during), spread(between)
	return waits.failed
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// waits is the times that positions waited for.
type waits struct {
	mu     sync.Mutex
	begun  time.Time // of the present one; zero: there is none
	most   time.Duration
	failed error
}

// longest returns the longest wait since the last call, with that of the present position so far.
func (w *waits) longest() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	most := w.most
	w.most = 0
	if now := time.Now(); !w.begun.IsZero() {
		most = max(most, now.Sub(w.begun))
		w.begun = now
	}
	return most
}

// probe submits positions one by one.
func (w *waits) probe(ctx context.Context, p *ingest.Pipeline, vehicles *fleet) {
	for ctx.Err() == nil {
		batch := &ingest.Batch{Positions: []track.Position{*vehicles.next()}}
		w.mu.Lock()
		w.begun = time.Now()
		w.mu.Unlock()
		_, err := p.Submit(ctx, batch)
		w.mu.Lock()
		w.most, w.begun = max(w.most, time.Since(w.begun)), time.Time{}
		if err != nil && ctx.Err() == nil {
			w.failed = err
		}
		w.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// heap returns the bytes of the reachable heap.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
