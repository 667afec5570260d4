package streamlog

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// A snapshot is a state of the readers of a log as of an entry, as bytes of the caller's form. It
// is kept in a stream of its own, in messages of the length of a part of the log, on a subject of
// its own. Its manifest is written last, and makes it count. A manifest expects the sequence of the
// manifest before it, so of several snapshots that are written at once the first one counts, and
// the others are removed.
const (
	// SnapshotsSuffix ends the name of the stream of snapshots.
	SnapshotsSuffix = "_SNAPSHOTS"
	// keptSnapshots is the number of snapshots that are kept: one may be read while the next one
	// is written.
	keptSnapshots = 2
	// chunkPatience bounds the time for a message of a snapshot, while the servers are away.
	chunkPatience = 2 * time.Minute
	// chunkHeader has the index of a message of a snapshot.
	chunkHeader = "Paddock-Chunk"
)

// The errors of snapshots.
var (
	// ErrNotWhole: a snapshot is damaged, or has been replaced by newer ones.
	ErrNotWhole = errors.New("the snapshot is not whole")
	// ErrOther: another node has written a snapshot that is as new.
	ErrOther = errors.New("another node has written a snapshot that is as new")
)

// Snapshot describes a snapshot.
type Snapshot struct {
	ID       string    `json:"id"`
	Log      string    `json:"log"`      // id of the log
	Sequence uint64    `json:"sequence"` // of the last message of the log that it holds
	Position uint64    `json:"position"` // bytes of the log up to there, as its writer counts them
	Node     string    `json:"node"`     // that has written it
	Version  string    `json:"version"`  // of that node's program
	Time     time.Time `json:"time"`     // by the clock of that node
	Subject  string    `json:"subject"`  // of its messages
	Chunks   uint64    `json:"chunks"`   // its messages
	Bytes    uint64    `json:"bytes"`
	SHA256   string    `json:"sha256"` // of the bytes

	message uint64 // sequence of the manifest
}

func (c *Config) snapshotStream() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: c.Stream + SnapshotsSuffix, Subjects: []string{c.Snapshots + ".>"}, Replicas: max(c.Replicas, 1),
		Description: "snapshots of the state of a Paddock cluster",
		Storage:     jetstream.FileStorage, AllowDirect: true, Duplicates: 2 * time.Minute,
	}
}

func (c *Config) manifests() string { return c.Snapshots + ".manifest" }

// chunks returns the subject of the messages of a snapshot that begins when the newest manifest has
// this sequence. The node's name is hashed, as it may hold any bytes.
func (c *Config) chunks(newest uint64, node, id string) string {
	return fmt.Sprintf("%s.data.%d.%s.%s", c.Snapshots, newest, nodeToken(node), id)
}

func nodeToken(node string) string {
	sum := sha256.Sum256([]byte(node))
	return hex.EncodeToString(sum[:8])
}

// Snapshots returns the snapshots that are kept, the newest one first.
func (l *Log) Snapshots(ctx context.Context) (all []Snapshot, err error) {
	if l.snapshots == nil {
		return nil, nil
	}
	for next := uint64(1); ; {
		m, err := l.message(ctx, l.Stream+SnapshotsSuffix, map[string]any{"seq": next, "next_by_subj": l.manifests()})
		if err != nil {
			return nil, err
		}
		if m == nil {
			slices.Reverse(all)
			return all, nil
		}
		s := Snapshot{message: m.Sequence}
		if err := json.Unmarshal(m.Data, &s); err != nil || s.Log != l.ID {
			return nil, fmt.Errorf("%w: message %d of %s: %w", ErrForeign, m.Sequence, l.Stream+SnapshotsSuffix,
				cmp.Or(err, errors.New("a snapshot of another log")))
		}
		all, next = append(all, s), m.Sequence+1
	}
}

// SaveSnapshot keeps a snapshot, whose bytes write writes. Of s it uses Sequence, Position, Node,
// Version and Time. The memory that it takes does not depend on the bytes. The error is ErrOther if
// there is another one by now that is as new. [Log.Tidy] is due then.
func (l *Log) SaveSnapshot(ctx context.Context, s Snapshot, write func(io.Writer) error) (Snapshot, error) {
	kept, err := l.Snapshots(ctx)
	if err != nil {
		return s, err
	}
	newest := uint64(0)
	if len(kept) > 0 {
		if newest = kept[0].message; kept[0].Sequence >= s.Sequence {
			return s, ErrOther
		}
	}
	own := func(_ uint64, node string) bool { return node == nodeToken(s.Node) } // of an attempt that failed
	if err := l.removeChunks(ctx, kept, own); err != nil {
		return s, err
	}
	s.ID, s.Log = nuid.Next(), l.ID
	s.Subject = l.chunks(newest, s.Node, s.ID)
	w := &snapshotWriter{ctx: ctx, log: l, s: &s, hash: sha256.New(), buffer: make([]byte, 0, l.part)}
	if err = write(w); err == nil {
		err = w.end()
	}
	written := err == nil
	if written {
		err = l.publishManifest(ctx, &s, newest)
	}
	if written && err != nil && !errors.Is(err, ErrOther) {
		return s, err // it may count, although no answer came: else the next snapshot removes its chunks
	}
	if err != nil {
		removing, cancel := context.WithTimeout(context.WithoutCancel(ctx), attempt)
		defer cancel()
		_ = l.snapshots.Purge(removing, jetstream.WithPurgeSubject(s.Subject)) // else the next snapshot does it
		return s, err
	}
	return s, nil
}

// publishManifest makes a snapshot count.
func (l *Log) publishManifest(ctx context.Context, s *Snapshot, newest uint64) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	msg := &nats.Msg{Subject: l.manifests(), Data: text, Header: nats.Header{
		jetstream.MsgIDHeader:               {s.ID},
		jetstream.ExpectedLastSubjSeqHeader: {strconv.FormatUint(newest, 10)},
	}}
	bounded, cancel := context.WithTimeout(ctx, chunkPatience)
	defer cancel()
	s.message, err = again(bounded, &l.trouble, func(ctx context.Context) (uint64, error) {
		ack, err := l.js.PublishMsg(ctx, msg, jetstream.WithRetryAttempts(0))
		if err == nil {
			return ack.Sequence, nil
		}
		if !wrongSequence(err) {
			return 0, err
		}
		kept, keptErr := l.Snapshots(ctx) // it may be there, and the answer is lost
		switch {
		case keptErr != nil:
			return 0, errors.Join(err, keptErr)
		case len(kept) > 0 && kept[0].ID == s.ID:
			return kept[0].message, nil
		}
		return 0, final{ErrOther}
	})
	return err
}

// Tidy removes all but the two newest snapshots, messages of unfinished ones, and the entries of
// the log that both of the two hold. Several nodes may do it at once.
func (l *Log) Tidy(ctx context.Context) error {
	kept, err := l.Snapshots(ctx)
	if err != nil || len(kept) == 0 {
		return err
	}
	if len(kept) > keptSnapshots {
		if err := l.snapshots.Purge(ctx, jetstream.WithPurgeSubject(l.manifests()), jetstream.WithPurgeKeep(keptSnapshots)); err != nil {
			return err
		}
		kept = kept[:keptSnapshots]
	}
	// What began before the newest snapshot counted can count no more.
	late := func(newest uint64, _ string) bool { return newest < kept[0].message }
	if err := l.removeChunks(ctx, kept, late); err != nil || len(kept) < keptSnapshots {
		return err
	}
	return l.Trim(ctx, kept[keptSnapshots-1].Sequence+1)
}

// removeChunks removes the messages of snapshots that are not kept, if they are selected by the
// newest manifest at their begin and the token of their node.
func (l *Log) removeChunks(ctx context.Context, kept []Snapshot, selected func(newest uint64, node string) bool) error {
	below := l.Config.Snapshots + ".data."
	info, err := l.snapshots.Info(ctx, jetstream.WithSubjectFilter(below+">"))
	if err != nil {
		return err
	}
	for subject := range info.State.Subjects {
		tokens := strings.Split(strings.TrimPrefix(subject, below), ".")
		newest, err := strconv.ParseUint(tokens[0], 10, 64)
		isKept := slices.ContainsFunc(kept, func(s Snapshot) bool { return s.Subject == subject })
		if err != nil || len(tokens) != 3 || isKept || !selected(newest, tokens[1]) {
			continue
		}
		if err := l.snapshots.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
			return err
		}
	}
	return nil
}

// RemoveSnapshot removes a snapshot that SaveSnapshot has returned.
func (l *Log) RemoveSnapshot(ctx context.Context, s Snapshot) error {
	return errors.Join(l.snapshots.DeleteMsg(ctx, s.message), l.snapshots.Purge(ctx, jetstream.WithPurgeSubject(s.Subject)))
}

// snapshotWriter writes the messages of a snapshot, one after the other.
type snapshotWriter struct {
	ctx    context.Context
	log    *Log
	s      *Snapshot
	hash   hash.Hash
	buffer []byte
}

// Write implements [io.Writer].
func (w *snapshotWriter) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		part := min(len(p), cap(w.buffer)-len(w.buffer))
		w.buffer = append(w.buffer, p[:part]...)
		if n, p = n+part, p[part:]; len(w.buffer) < cap(w.buffer) {
			break
		}
		if err := w.publish(); err != nil {
			return n, err
		}
	}
	return n, nil
}

func (w *snapshotWriter) publish() error {
	index := strconv.FormatUint(w.s.Chunks, 10)
	msg := &nats.Msg{Subject: w.s.Subject, Data: w.buffer, Header: nats.Header{
		jetstream.MsgIDHeader: {w.s.ID + "-" + index}, chunkHeader: {index},
	}}
	bounded, cancel := context.WithTimeout(w.ctx, chunkPatience)
	defer cancel()
	if _, err := again(bounded, &w.log.trouble, func(ctx context.Context) (*jetstream.PubAck, error) {
		return w.log.js.PublishMsg(ctx, msg, jetstream.WithRetryAttempts(0))
	}); err != nil {
		return err
	}
	w.s.Chunks++
	w.s.Bytes += uint64(len(w.buffer))
	_, _ = w.hash.Write(w.buffer) // never fails
	w.buffer = w.buffer[:0]
	return nil
}

func (w *snapshotWriter) end() error {
	if len(w.buffer) > 0 {
		if err := w.publish(); err != nil {
			return err
		}
	}
	w.s.SHA256 = hex.EncodeToString(w.hash.Sum(nil))
	return nil
}
