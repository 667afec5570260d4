package platform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"paddock/fence"
	"paddock/internal/platform/events"
	"paddock/internal/platform/history"
	"paddock/internal/platform/ingest"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/views"
)

const (
	// salvaged is the name of a complete copy of a damaged journal, before it takes its place.
	salvaged = "journal.salvaged"
	// lossesName is the journal's value that lists the accepted losses.
	lossesName = "losses"
	// acceptHint is the way out of an error of damage.
	acceptHint = "restore the newest backup, or start with --accept-loss, which keeps the damaged files aside and goes on with what can be read"
	// nodeHint is that of a node, which would not be as the others with what can be read.
	nodeHint = "move the directory away, and the node begins with the state of the others"
)

// errNodeLoss is returned when a node is to accept a loss.
var errNodeLoss = errors.New("a node of a cluster accepts no loss, or it would differ from the others: start it without --accept-loss; if its journal is damaged, " + nodeHint)

// loss is an accepted loss: what could not be read, and what that means.
type loss struct {
	At     time.Time `json:"at"`
	Damage []string  `json:"damage"` // file and offset, and what lies there
	Lost   []string  `json:"lost"`
	Aside  string    `json:"aside"` // where the damaged journal is
}

// acceptLoss puts a copy of what can be read in the place of a damaged journal, which is kept
// aside. If nothing is damaged, it changes nothing.
func (p *Platform) acceptLoss(cfg ingest.Config, dir string) error {
	if p.cfg.Cluster.On() {
		return p.cfg.Fault("data.dir", errNodeLoss)
	}
	if _, err := os.Stat(JournalDir(dir)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	work, err := os.MkdirTemp(dir, unfinishedPrefix) // a later start removes it, if this one does not
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }() // in vain: the next start does it
	copied := filepath.Join(work, "copy")
	damage, err := journal.Salvage(JournalDir(dir), filepath.Join(work, "links"), copied, p.log)
	if err != nil {
		return err
	}
	if len(damage) == 0 {
		p.log.Info("--accept-loss: the journal is not damaged, and nothing is lost", "dir", dir)
		return nil
	}
	aside := JournalDir(dir) + ".damaged-" + time.Now().UTC().Format("20060102T150405Z")
	l := loss{At: time.Now().UTC().Truncate(time.Second), Aside: aside}
	for _, d := range damage {
		l.Damage = append(l.Damage, d.String())
		p.log.Error("the journal is damaged", "where", d.Where, "what", d.What)
	}
	if err := p.mend(cfg, copied, &l, damage); err != nil {
		return fmt.Errorf("the damaged journal cannot be mended: restore a backup: %w", err)
	}
	for _, lost := range l.Lost {
		p.log.Error("a loss was accepted", "lost", lost)
	}
	p.log.Warn("the journal goes on with what could be read: the damaged files are kept, remove them when they are of no use", "damaged", aside)
	return exchange(dir, copied, aside)
}

// mend makes a copy of a damaged journal complete: it starts from saved states, and says where
// something is missing.
func (p *Platform) mend(cfg ingest.Config, dir string, l *loss, damage []journal.Damage) (err error) {
	newest := slices.ContainsFunc(damage, func(d journal.Damage) bool { return d.Newest })
	var oldest []byte
	if slices.ContainsFunc(damage, func(d journal.Damage) bool { return d.Oldest }) {
		oldest = events.Loss{Reason: lostReason}.Encode()
	}
	j, err := journal.OpenSalvaged(dir, p.log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	missing, older, err := j.MarkLost(events.Loss{Reason: lostReason, Counted: true}.Encode(), oldest)
	if err != nil {
		return err
	}
	l.lose(missing > 0, "%d events between others", missing)
	l.lose(older > 0, "the oldest events, of the %d before the remaining ones", older)
	if err := keepHistory(j); err != nil {
		return err
	}
	sets := map[string]error{}
	cfg.Journal = j
	if cfg.Runs, err = events.RunsOf(j); err != nil {
		cfg.Runs = nil // they are lost too
	}
	if cfg.Fences, err = views.Open(views.Options{
		Catalog: &fence.Catalog{}, Fences: p.fenceOptions(), Journal: j, Lost: func(set string, err error) { sets[set] = err },
	}); err != nil {
		return err
	}
	found, err := ingest.Recover(cfg)
	if err != nil {
		return err
	}
	for set, err := range sets {
		l.lose(true, "the set %q, unless it is read from a file again: %v", set, err)
	}
	l.lose(found.Partitions > 0, "the present state of objects, in %d of 64 parts: their next position is their first", found.Partitions)
	l.lose(found.Records > 0, "the positions and changes of %d records", found.Records)
	l.lose(newest, "the newest positions and events, whose number is not known")
	l.lose(len(l.Lost) == 0, "old events, past positions or visits, or nothing that was in use")
	return seal(j, l, found, newest || !found.Whole || len(sets) > 0)
}

// lostReason is what subscribers are told.
const lostReason = "the journal was damaged, and the loss was accepted"

func (l *loss) lose(lost bool, format string, args ...any) {
	if lost {
		l.Lost = append(l.Lost, fmt.Sprintf(format, args...))
	}
}

// keepHistory stores the positions of records before they go.
func keepHistory(j *journal.Salvaged) error {
	h, err := history.Open(history.Options{Journal: j})
	if err != nil {
		return err
	}
	return h.Close(context.Background())
}

// seal ends a mended journal. If gap is set, clients may know events that it has not.
func seal(j *journal.Salvaged, l *loss, found ingest.Recovered, gap bool) error {
	losses, err := acceptedLosses(j)
	if err != nil {
		losses = nil // they are lost too
	}
	text, err := json.Marshal(append(losses, *l))
	if err != nil {
		return err
	}
	values := []journal.Value{{Name: lossesName, Bytes: text}}
	var piece []byte
	if gap {
		piece = events.Loss{Reason: lostReason}.Encode()
		committed := j.Committed()
		more, err := events.Lose(j, committed.Next()-1, found.Number+1)
		if err != nil {
			return err
		}
		values = append(values, more...)
	}
	return errors.Join(
		history.Mend(j, found.Number),
		j.Put(values...),
		j.Seal(found.Number, found.At, piece),
	)
}

// acceptedLosses returns the losses of a journal.
func acceptedLosses(j journal.Journal) (all []loss, err error) {
	text, err := j.Get(lossesName)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	return all, err
}

// exchange puts a copy in the place of the journal. A start after a crash in the middle completes
// it, see finishExchange.
func exchange(dir, copied, aside string) error {
	next := filepath.Join(dir, salvaged)
	for _, step := range [][2]string{{copied, next}, {JournalDir(dir), aside}, {next, JournalDir(dir)}} {
		if err := os.Rename(step[0], step[1]); err != nil {
			return err
		}
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync() // not every system has it for directories
	return d.Close()
}

// finishExchange ends what a crash in exchange has left.
func finishExchange(dir string) error {
	next := filepath.Join(dir, salvaged)
	if _, err := os.Stat(next); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if _, err := os.Stat(JournalDir(dir)); errors.Is(err, os.ErrNotExist) {
		return os.Rename(next, JournalDir(dir))
	}
	return os.RemoveAll(next)
}

// withHint adds the way out to an error of damage.
func (p *Platform) withHint(err error) error {
	switch {
	case !errors.Is(err, journal.ErrDamaged) || strings.Contains(err.Error(), "backup"):
		return err
	case p.cfg.Cluster.On():
		return fmt.Errorf("%w: %s", err, nodeHint)
	}
	return fmt.Errorf("%w: %s", err, acceptHint)
}
