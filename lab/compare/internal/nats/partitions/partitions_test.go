// Package partitions compares the partitions of objects with the results of nats-server's subject
// mapping.
package partitions

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"paddock/internal/platform/subjects"
)

var update = flag.Bool("update", false, "write the vectors from nats-server's mapping")

const vectors = "../../../../../internal/platform/subjects/testdata/partitions.txt"

// TestVectors: the file that the platform's own test reads is what nats-server computes.
func TestVectors(t *testing.T) {
	mapping := mapper(t)
	var b strings.Builder
	for _, o := range objects() {
		subject := tokens(o)
		fmt.Fprintln(&b, strings.Replace(subject, ".", " ", 1), mapping(subject))
	}
	if *update {
		if err := os.WriteFile(vectors, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if kept, err := os.ReadFile(vectors); err != nil || string(kept) != b.String() {
		t.Errorf("the file differs from nats-server's answers: %v", err)
	}
}

// TestPartitions compares many random names.
func TestPartitions(t *testing.T) {
	mapping := mapper(t)
	r := rand.New(rand.NewPCG(64, 1))
	for range 20_000 {
		o := [2]string{name(r), name(r)}
		if got, want := fmt.Sprint(subjects.Partition(o[0], o[1])), mapping(tokens(o)); got != want {
			t.Fatalf("%q: %s, want %s", o, got, want)
		}
	}
}

func name(r *rand.Rand) string {
	b := make([]byte, r.IntN(12))
	for i := range b {
		b[i] = byte(r.IntN(256))
		if r.IntN(3) > 0 {
			b[i] = "abcXYZ019_-. *>%"[r.IntN(16)]
		}
	}
	return string(b)
}

// objects are the fleets and ids of the vectors.
func objects() (all [][2]string) {
	strange := []string{"", "_", "__", "a.b", "*", ">", "%", "%5F", "é", "日本", "\x00", "a b", "MTA NYCT_3846"}
	for _, fleet := range strange {
		for _, id := range strange {
			all = append(all, [2]string{fleet, id})
		}
	}
	for i := range 100 {
		all = append(all, [2]string{"default", fmt.Sprint("v", i)}, [2]string{"f", fmt.Sprint("bus-", i*i)})
	}
	return all
}

func tokens(o [2]string) string {
	b := append(subjects.AppendToken(nil, o[0]), '.')
	return string(subjects.AppendToken(b, o[1]))
}

// mapper returns nats-server's mapping from a subject of two tokens to its partition.
func mapper(t *testing.T) func(string) string {
	t.Helper()
	m, err := server.NewSubjectTransform("*.*", fmt.Sprintf("{{partition(%d,1,2)}}", subjects.Partitions))
	if err != nil {
		t.Fatal(err)
	}
	return m.TransformSubject
}
